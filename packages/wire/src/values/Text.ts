/**
 * Schemas of text and JSON from clients: no U+0000, and bounded nesting.
 *
 * PostgreSQL cannot store U+0000 in text, so a request that contains it is rejected at the edge, on every database. Output of a
 * model or a tool is not rejected: it is stored as JSON, which escapes the character. Deep nesting would overflow the stack.
 */
import * as Schema from "effect/Schema"
import { isNonEmpty } from "./Checks.ts"
import * as JsonShape from "./JsonShape.ts"

/** The first string or key of a JSON value that contains U+0000; `undefined` where there is none. */
export const findNul = (json: unknown): Nul | undefined => {
  const open: Array<ValuePosition> = [{ value: json, key: "", parent: undefined }]
  for (let position = open.pop(); position !== undefined; position = open.pop()) {
    const { value } = position
    if (typeof value === "string") {
      const at = value.indexOf(NUL)
      if (at >= 0) return { path: pathOf(position), message: messageAt(at) }
    } else if (typeof value === "object" && value !== null) {
      const entries: ReadonlyArray<readonly [PropertyKey, unknown]> = Array.isArray(value)
        ? Array.from(value.entries())
        : Object.entries(value)
      if (entries.some(([key]) => typeof key === "string" && key.includes(NUL))) {
        return { path: pathOf(position), message: "expected keys without the character U+0000" }
      }
      for (const [key, value] of entries.toReversed()) open.push({ value, key, parent: position })
    }
  }
  return undefined
}

/** An occurrence of U+0000, with a message for the client. */
export interface Nul {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

const withoutNul = Schema.makeFilter<string>((text) => {
  const at = text.indexOf(NUL)
  return at < 0 ? undefined : messageAt(at)
})

/** Any text without U+0000. */
export const Text = Schema.String.check(withoutNul)

/** Text of one character at least. */
export const NonEmptyText = Schema.String.check(isNonEmpty, withoutNul)

/**
 * An object without U+0000 in its keys and strings, nested 200 levels deep at most, because later readers recurse.
 *
 * Its values are not decoded further: they come from parsed JSON text.
 */
export const JsonObject = Schema.Record(Schema.String, Schema.Unknown)
  .check(
    Schema.makeFilter((json) => {
      if (JsonShape.measure(json).isTooDeep) return { path: wayTo(json), issue: TOO_DEEP }
      const found = findNul(json)
      return found === undefined ? undefined : { path: found.path, issue: found.message }
    })
  )
  .pipe(Schema.refine((_json): _json is { readonly [key: string]: Schema.Json } => true))

// --- internal

const NUL = "\0"

/** A value and a link to its parent; one full path for each value would be long in deep values. */
interface ValuePosition {
  readonly value: unknown
  readonly key: PropertyKey
  readonly parent: ValuePosition | undefined
}

const pathOf = (position: ValuePosition): ReadonlyArray<PropertyKey> => {
  const path: Array<PropertyKey> = []
  for (let at = position; at.parent !== undefined; at = at.parent) path.push(at.key)
  return path.toReversed()
}

const TOO_DEEP = `expected at most ${JsonShape.MOST_LEVELS} levels of nesting`

/** The most keys of a long path that a message names. */
const MOST_NAMED = 3

/** The beginning of the path to the value that is nested too deeply. */
const wayTo = (json: unknown): ReadonlyArray<PropertyKey> => {
  const path: Array<PropertyKey> = []
  let value = json
  while (path.length < MOST_NAMED && typeof value === "object" && value !== null) {
    const levels = JsonShape.MOST_LEVELS - path.length - 1
    const entries: ReadonlyArray<readonly [string, unknown]> = Object.entries(value)
    const deep = entries.find(([, child]) => JsonShape.measure(child, Infinity, levels).isTooDeep)
    if (deep === undefined) break
    path.push(deep[0])
    value = deep[1]
  }
  return path
}

const messageAt = (at: number): string => `expected text without the character U+0000, which is at position ${at}`
