/**
 * Reads consecutive text frames without a parser, by their identical surroundings.
 *
 * A model's response arrives in hundreds of frames of some 200 characters, of which five are new. The template learns the text
 * before and after a frame's delta. A later frame with the same surroundings is the same JSON with another string in it.
 *
 * DeltaTemplate.T1. A match gives the same result as `JSON.parse` and the protocol's machine. The surroundings are compared as a
 *     whole, and the text must be one JSON string, so it can hide nothing else.
 * DeltaTemplate.T2. Only a frame that gave one delta and changed nothing else is learned, and only the frames directly after it are
 *     matched: without another frame in between, the machine's state is unchanged.
 * DeltaTemplate.T3. OpenAI pads frames with an `obfuscation` of varying length; its value may vary too.
 * DeltaTemplate.T4. A delta keeps no part of its network read alive: V8 copies a slice below 13 characters, and longer ones are parsed.
 */
import type { Provider } from "@holdfast/kernel"

/** Matches frames against the last learned one; `undefined` where nothing is learned or the frame differs. */
export interface DeltaTemplate {
  readonly match: (data: string, event: string | undefined) => Provider.ProviderEvent | undefined
  /** Learns a frame, given the events that it produced. */
  readonly learn: (data: string, event: string | undefined, events: ReadonlyArray<Provider.ProviderEvent>) => void
  readonly forget: () => void
}

/** A template that has learned nothing. */
export const make = (): DeltaTemplate => {
  let known: Template | undefined

  return {
    match: (data, event) => {
      if (known === undefined || event !== known.event) return undefined
      const end = endOf(data, known)
      if (end < known.before.length) return undefined
      const delta = stringIn(data, known.before.length, end)
      return delta === undefined || delta === "" ? undefined : { type: known.type, delta }
    },
    learn: (data, event, events) => {
      const [only] = events
      known =
        events.length === 1 && (only?.type === "text-delta" || only?.type === "reasoning-delta")
          ? templateOf(data, event, only)
          : undefined
    },
    forget: () => {
      known = undefined
    }
  }
}

// --- internal

interface Template {
  readonly event: string | undefined
  readonly type: "text-delta" | "reasoning-delta"
  /** The frame up to the quote that opens the text, included. */
  readonly before: string
  /** The frame from the quote that closes the text; up to the quote that opens the padding, included, where there is one. */
  readonly behind: string
  /** The rest of the frame after the padding. */
  readonly end: string | undefined
}

const PADDING = '"obfuscation":"'

/** Shorter slices are copies (DeltaTemplate.T4). */
const SLICED_FROM = 13

const templateOf = (
  data: string,
  event: string | undefined,
  { type, delta }: Extract<Provider.ProviderEvent, { type: "text-delta" | "reasoning-delta" }>
): Template | undefined => {
  const literal = JSON.stringify(delta)
  const at = data.indexOf(`:${literal}`)
  // If the text occurs twice, its position is ambiguous.
  if (at < 0 || data.includes(literal, at + 2)) return undefined
  const before = data.slice(0, at + 2)
  const behind = data.slice(at + literal.length)
  const padding = behind.indexOf(PADDING)
  if (padding < 0) return { event, type, before, behind, end: undefined }
  const opened = padding + PADDING.length
  const closed = behind.indexOf('"', opened)
  return { event, type, before, behind: behind.slice(0, opened), end: behind.slice(closed) }
}

/**
 * The position of the text's end; -1 where the frame differs.
 *
 * It compares slices, which V8 does word by word; `startsWith` compares character by character.
 */
const endOf = (data: string, { before, behind, end }: Template): number => {
  if (data.slice(0, before.length) !== before) return -1
  if (end === undefined) {
    const at = data.length - behind.length
    return data.slice(at) === behind ? at : -1
  }
  const closed = data.length - end.length
  if (data.slice(closed) !== end) return -1
  const at = data.lastIndexOf(behind)
  // The padding is letters and digits, so the first quote after its opening quote closes it.
  return at >= 0 && data.indexOf('"', at + behind.length) === closed ? at : -1
}

const stringIn = (data: string, start: number, end: number): string | undefined => {
  const raw = data.slice(start, end)
  if (raw.length < SLICED_FROM && !raw.includes('"') && !raw.includes("\\")) return raw
  try {
    const value: unknown = JSON.parse(`"${raw}"`)
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}
