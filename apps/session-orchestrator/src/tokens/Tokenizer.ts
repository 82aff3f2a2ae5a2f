/**
 * Counts the tokens of a text, by the encoding of OpenAI's newer models (`o200k_base`).
 *
 * Other providers' encodings differ by some ten per cent, so a count is an estimate: where a provider has told what a
 * conversation cost, `ContextSize` takes its word. The tables take 80 MB and a third of a second to load, so they are loaded when
 * the first turn needs them, and not at all where no budget and no context window is configured.
 *
 * N1. The time that a count takes grows with the text and no faster, whatever the text is: turns of all conversations wait for it.
 */
import { Effect } from "effect"

/** Counts the tokens of a text. */
export type Count = (text: string) => number

/** The counter. The tables are loaded once. */
export const load: Effect.Effect<Count> = Effect.promise(() => (loading ??= loadTables()))

// --- internal

let loading: Promise<Count> | undefined

const loadTables = async (): Promise<Count> => {
  const { countTokens } = await import("gpt-tokenizer/encoding/o200k_base")
  // A text that looks like one of the encoding's own marks is a text.
  const options = { disallowedSpecial: new Set<string>() }
  return (text) => sumOf(text, (piece) => countTokens(piece, options))
}

/**
 * N1. The encoder's time grows with the square of what has no blank in it: 21 s for 64 kB of Chinese. Cut into pieces of this many
 * characters that takes a fifth of a second, and counts at most some three per cent too many.
 */
const PIECE = 128

/** The sum over pieces, which are cut before a blank where there is one. */
const sumOf = (text: string, count: Count): number => {
  let sum = 0
  for (let begin = 0; begin < text.length;) {
    const piece = text.slice(begin, begin + PIECE)
    const blank = begin + PIECE < text.length ? piece.lastIndexOf(" ") : -1
    const part = blank > 0 ? piece.slice(0, blank) : piece
    sum += count(part)
    begin += part.length
  }
  return sum
}
