/**
 * Reads consecutive text frames without a parser, by their identical surroundings.
 *
 * A model's response arrives in hundreds of frames of some 200 characters, of which five are new. The template learns a frame's text as
 * it stood in the stream, before and after the delta. Later frames with the same surroundings are the same JSON with another string in
 * it. OpenAI's `obfuscation` of varying length may vary too, without a backslash: its escape may be invalid.
 *
 * A match gives the same text as `JSON.parse` and the protocol's machine: the surroundings are compared as a whole, and the text must be
 * one JSON string. Only a frame that gave one delta and changed nothing else is learned, and only the frames directly after it are matched.
 * The frames of one read give one delta, whose text is parsed, so it keeps no part of the read alive. All characters between two texts are
 * compared at once: V8 compares a slice word by word, and `startsWith` character by character.
 */
import type { Provider } from "@holdfast/kernel"

/** Consecutive frames. */
export interface Match {
  /** Their joined text. */
  readonly delta: Delta
  /** The position behind them. */
  readonly end: number
}

/** The surroundings of a text. */
export interface DeltaTemplate {
  readonly type: Delta["type"]
  /** A frame up to the quote that opens the text, included. */
  readonly before: string
  /** From the quote that closes the text up to the quote that opens the padding, included; empty where there is no padding. */
  readonly middle: string
  /** From the quote that closes the text, or the padding, to the end of the frame. */
  readonly behind: string
  /** From there to the text of the next frame. */
  readonly seam: string
}

/** Learns a frame's text, which ends in a blank line, given the events that it produced; `undefined` where it cannot be learned. */
export const of = (raw: string, events: ReadonlyArray<Provider.ProviderEvent>): DeltaTemplate | undefined => {
  const [only] = events
  if (events.length !== 1 || (only?.type !== "text-delta" && only?.type !== "reasoning-delta")) return undefined
  const literal = JSON.stringify(only.delta)
  const at = raw.indexOf(`:${literal}`) + 2
  // If the text occurs twice, its position is ambiguous.
  if (at < 2 || raw.includes(literal, at)) return undefined
  const closed = at + literal.length - 2
  const padding = raw.indexOf(PADDING, closed)
  const opened = padding < 0 ? closed : padding + PADDING.length
  const end = padding < 0 ? closed : raw.indexOf('"', opened)
  const next = raw.length - end
  // One short string for all parts, which keeps no network read alive: from the frame's end around to its text, and on to the end.
  const own = raw.slice(end) + raw
  return {
    type: only.type,
    before: own.slice(next, next + at),
    middle: own.slice(next + closed, next + opened),
    behind: own.slice(0, next),
    seam: own.slice(0, next + at)
  }
}

/**
 * The frames that begin at `start` and have at most `most` characters of text together, as they stand in the frames; `undefined` where the
 * first frame differs.
 */
export const match = (
  { before, behind, middle, seam, type }: DeltaTemplate,
  text: string,
  start: number,
  most: number
): Match | undefined => {
  if (!has(text, before, start)) return undefined
  let raw = ""
  let end = start
  for (let goesOn = true; goesOn;) {
    const at = end + before.length
    const closed = closingQuote(text, at)
    if (closed === at || raw.length + closed - at > most || !has(text, middle, closed)) break
    const rest = middle === "" ? closed : closingQuote(text, closed + middle.length, Infinity)
    goesOn = has(text, seam, rest)
    if (!goesOn && !has(text, behind, rest)) break
    raw += text.slice(at, closed)
    end = rest + behind.length
  }
  try {
    return end === start ? undefined : { delta: { type, delta: JSON.parse(`"${raw}"`) }, end }
  } catch {
    return undefined
  }
}

// --- internal

type Delta = Extract<Provider.ProviderEvent, { type: "text-delta" | "reasoning-delta" }>

const PADDING = '"obfuscation":"'

const has = (text: string, part: string, at: number): boolean => text.slice(at, at + part.length) === part

/**
 * The position of the quote that closes the string; the text's end where there is none, or the string has a control character.
 *
 * @param skipped how many characters are skipped at a backslash; by default those of its escape
 */
const closingQuote = (text: string, start: number, skipped?: number): number => {
  for (let at = start; at < text.length; at++) {
    const char = text[at] as string // in bounds
    if (char === '"') return at
    if (char < " ") break
    // An escape is skipped as a whole: half of one, completed by the next frame, would be read as one character.
    if (char === "\\") at += skipped ?? (text[at + 1] === "u" ? 5 : 1)
  }
  return text.length
}
