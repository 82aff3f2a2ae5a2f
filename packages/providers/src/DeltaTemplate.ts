/**
 * A short cut for the frames of a text that is under way: alike to the letter but for the text, so they need no parser.
 *
 * A model's answer comes in hundreds of frames of some 200 characters, of which five are new. What is learned from one of
 * them is what stands before and behind its text; the next one that has the same around it is the same JSON with another
 * string in it.
 *
 * T1. A match gives what `JSON.parse` and the protocol's machine would have given. What stands around the text is compared
 *     whole, and the text must be one JSON string: nothing else can be hidden in it.
 * T2. Only a frame that gave one delta and changed nothing else is learned, and only the frames right behind it are matched:
 *     a machine that was told of no other frame in between has nothing new to say of this one.
 * T3. OpenAI pads frames with an `obfuscation` of changing length; its value is let vary too.
 * T4. A delta keeps no part of the read that it came in alive: V8 makes a copy of a slice below 13 characters, and longer
 *     ones are parsed.
 */
import type { Provider } from "@holdfast/kernel"

/** Deltas have one shape each; `undefined` where nothing is known or the frame is another. */
export interface DeltaTemplate {
  readonly match: (data: string, event: string | undefined) => Provider.ProviderEvent | undefined
  /** Learns from a frame, given the events that it brought. */
  readonly learn: (data: string, event: string | undefined, events: ReadonlyArray<Provider.ProviderEvent>) => void
  readonly forget: () => void
}

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
  /** Up to and with the quote that opens the text. */
  readonly before: string
  /** From the quote that closes it; up to and with the quote that opens the padding, where there is one. */
  readonly behind: string
  /** What follows the padding. */
  readonly end: string | undefined
}

const PADDING = '"obfuscation":"'

/** A slice that is shorter is a copy (T4). */
const SLICED_FROM = 13

const templateOf = (
  data: string,
  event: string | undefined,
  { type, delta }: Extract<Provider.ProviderEvent, { type: "text-delta" | "reasoning-delta" }>
): Template | undefined => {
  const literal = JSON.stringify(delta)
  const at = data.indexOf(`:${literal}`)
  // A text that stands there twice could be either.
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
 * Where the text ends; -1 where the frame is another.
 *
 * Slices are compared, which V8 does word by word; `startsWith` goes character by character.
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
  // The padding is letters and digits: the first quote behind its own is the one that closes it.
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
