/**
 * Writes long JSON in pieces, so that the thread serves other requests between them.
 *
 * `JSON.stringify` of an answer of 16 million characters occupies the thread for some 50 ms.
 *
 * The pieces together are the result of `JSON.stringify`. No piece is much longer than `PIECE`. A short value is one piece.
 */
import * as Effect from "effect/Effect"
import * as JsonShape from "./JsonShape.ts"

/** Characters: about a millisecond. */
const PIECE = 256 * 1024

/** Whether writing or reading a text of this length should yield to other fibers. */
export const isLong = (text: string): boolean => text.length > PIECE

/** The pieces of a value that JSON can hold: no functions, no cycles, nothing with a `toJSON` of its own. */
export function* pieces(value: unknown, most = PIECE): Generator<string, void> {
  if (isShort(value, most)) return yield JSON.stringify(value)
  if (typeof value === "string") return yield* piecesOf(value, most)
  if (typeof value !== "object" || value === null) return yield JSON.stringify(value)
  const isArray = Array.isArray(value)
  let before = isArray ? "[" : "{"
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined && !isArray) continue
    yield isArray ? before : `${before}${JSON.stringify(key)}:`
    yield* pieces(child ?? null, most)
    before = ","
  }
  yield before === "," ? (isArray ? "]" : "}") : isArray ? "[]" : "{}"
}

/** The whole text. Other fibers run between two pieces of a long text. */
export const stringify = (value: unknown): Effect.Effect<string> =>
  Effect.suspend(() => {
    if (isShort(value, PIECE)) return Effect.succeed(JSON.stringify(value))
    const written: Array<string> = []
    const source = pieces(value)
    let length = 0
    const write = (): Effect.Effect<string> => {
      for (let next = source.next(); next.done !== true; next = source.next()) {
        written.push(next.value)
        length += next.value.length
        if (length < PIECE) continue
        length = 0
        return Effect.andThen(Effect.yieldNow, Effect.suspend(write))
      }
      return Effect.succeed(written.length === 1 ? (written[0] ?? "") : written.join(""))
    }
    return write()
  })

// --- internal

const isShort = (value: unknown, most: number): boolean => JsonShape.measure(value, most, Infinity).characters <= most

function* piecesOf(text: string, most: number): Generator<string, void> {
  yield '"'
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + most, text.length)
    // Half of a pair is written as an escape: the pair stays together.
    if (isHigh(text.charCodeAt(to - 1)) && isLow(text.charCodeAt(to))) to++
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
  }
  yield '"'
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/** After the end of the text the code is NaN. */
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff
