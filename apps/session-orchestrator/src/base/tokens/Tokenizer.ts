/**
 * Counts the tokens of a text, by OpenAI's encoding `o200k_base`.
 *
 * It is the encoding of OpenAI's newer models. Other providers' encodings differ by some ten per cent, so a count is an estimate:
 * `ContextSize` prefers a count that the provider has reported. The tables take 80 MB and a sixth of a second to load, so they are loaded for
 * the first text that is counted: a limit of tokens alone costs nothing.
 *
 * The time of a count grows in proportion to the text, whatever the text is, because turns of all conversations wait for it: the encoder
 * gets pieces of bounded length, and their number grows with the text.
 */
import { createRequire } from "node:module"
import type * as Encoding from "gpt-tokenizer/encoding/o200k_base"

/** Counts the tokens of a text. */
export type Count = (text: string) => number

/** Counts the tokens of a text. */
export const count: Count = (text) => inPieces(text, (piece) => (counter ??= load())(piece))

/**
 * The sum of `count` over pieces of a text, which are cut before a blank if they have one.
 *
 * The encoder's time grows with the square of a text without blanks: 21 s for 64 kB of Chinese. In pieces that takes a fifth of a second, and
 * the count is some three per cent too high at most.
 */
export const inPieces = (text: string, count: Count): number => {
  let sum = 0
  for (let begin = 0; begin < text.length;) {
    const piece = text.slice(begin, begin + PIECE)
    const blank = begin + PIECE < text.length ? piece.lastIndexOf(" ") : 0
    const part = blank > 0 ? piece.slice(0, blank) : piece
    sum += count(part)
    begin += part.length
  }
  return sum
}

/** Characters of a piece. */
export const PIECE = 128

// --- internal

let counter: Count | undefined

const load = (): Count => {
  const { countTokens }: typeof Encoding = createRequire(import.meta.url)("gpt-tokenizer/encoding/o200k_base")
  // Text that looks like one of the encoding's special tokens is counted as text.
  const options = { disallowedSpecial: new Set<string>() }
  return (piece) => countTokens(piece, options)
}
