/**
 * Finds the members of a JSON object in its bytes, without parsing the values.
 *
 * It is for calls of other programs, whose bodies may have megabytes: the gateway reads a few short members (`CallBody`), and puts another
 * model into the place of the named one, with every other byte as it was (`NamedModel`).
 *
 * Text that is no JSON object has no members. A name that occurs twice is found twice: parsers differ in which one counts.
 */
import { JsonShape } from "@holdfast/wire"

/** A place in the bytes: `end` is the first byte after it. */
interface Place {
  readonly start: number
  readonly end: number
}

/** The places of the values of the members with a name, at the top level, in their order; empty: there is none. */
export const valuesOf = (bytes: Uint8Array, name: string): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  let at = blanksFrom(bytes, bytes[0] === MARK ? MARK_BYTES : 0)
  if (bytes[at] !== OPEN) return places
  at = blanksFrom(bytes, at + 1)
  while (bytes[at] === QUOTE) {
    const key = { start: at, end: stringEnd(bytes, at) }
    at = blanksFrom(bytes, key.end)
    if (bytes[at] !== COLON) return places
    const start = blanksFrom(bytes, at + 1)
    const end = valueEnd(bytes, start)
    if (end === start) return places
    if (nameIn(bytes, key) === name) places.push({ start, end })
    at = blanksFrom(bytes, end)
    if (bytes[at] !== COMMA) return places
    at = blanksFrom(bytes, at + 1)
  }
  return places
}

// --- internal

const OPEN = 0x7b
const OPEN_LIST = 0x5b
const CLOSE = 0x7d
const CLOSE_LIST = 0x5d
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BLANKS: ReadonlySet<unknown> = new Set([0x20, 0x09, 0x0a, 0x0d])
/** The first byte of a byte order mark; no JSON begins with it. */
const MARK = 0xef
const MARK_BYTES = 3

/** The first byte from here on that is no white space. */
const blanksFrom = (bytes: Uint8Array, from: number): number => {
  let at = from
  while (BLANKS.has(bytes[at])) at++
  return at
}

/** The end of the string that begins here. */
const stringEnd = (bytes: Uint8Array, from: number): number => {
  for (let first = from + 1; ;) {
    const quote = bytes.indexOf(QUOTE, first) // a file of megabytes is one string
    if (quote < 0) return bytes.length
    let slash = quote
    while (bytes[slash - 1] === BACKSLASH) slash-- // a quote is before the first of them
    if ((quote - slash) % 2 === 0) return quote + 1
    first = quote + 1
  }
}

const valueEnd = (bytes: Uint8Array, from: number): number => {
  if (bytes[from] === QUOTE) return stringEnd(bytes, from)
  let depth = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = stringEnd(bytes, at) - 1
    } else if (byte === OPEN || byte === OPEN_LIST) {
      depth++
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || BLANKS.has(byte))) {
      return at
    }
  }
  return bytes.length
}

const nameIn = (bytes: Uint8Array, { end, start }: Place): string | undefined => {
  const name = JsonShape.parse(new TextDecoder().decode(bytes.subarray(start, end)))
  return typeof name === "string" ? name : undefined
}
