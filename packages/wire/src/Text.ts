/**
 * Text and JSON that a client sends: any characters but U+0000, and no nesting that overflows a stack.
 *
 * PostgreSQL has no text with U+0000 in it, so a request that carries one is refused at the edge, on every database. What a model or a
 * tool sends is not refused: it is stored as JSON, which escapes the character.
 */
import { Schema } from "effect"
import * as JsonShape from "./JsonShape.ts"

/** The first place of a JSON value where a string or a key has U+0000; `undefined` where none has. */
export const findNul = (json: unknown): Nul | undefined => {
  const open: Array<Place> = [{ value: json, key: "", parent: undefined }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value } = place
    if (typeof value === "string") {
      const at = value.indexOf(NUL)
      if (at >= 0) return { path: pathOf(place), message: messageAt(at) }
    } else if (typeof value === "object" && value !== null) {
      const entries: ReadonlyArray<readonly [PropertyKey, unknown]> = Array.isArray(value)
        ? Array.from(value.entries())
        : Object.entries(value)
      if (entries.some(([key]) => typeof key === "string" && key.includes(NUL))) {
        return { path: pathOf(place), message: "expected keys without the character U+0000" }
      }
      for (const [key, value] of entries.toReversed()) open.push({ value, key, parent: place })
    }
  }
  return undefined
}

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
export const NonEmptyText = Schema.NonEmptyString.check(withoutNul)

/**
 * An object whose keys and strings have no U+0000, and that is nested 200 levels deep at most: what reads it later recurses.
 *
 * What is in it is not decoded: JSON text has given it.
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

/** A value and the way to it; a path of its own for each would be long where values are deep. */
interface Place {
  readonly value: unknown
  readonly key: PropertyKey
  readonly parent: Place | undefined
}

const pathOf = (place: Place): ReadonlyArray<PropertyKey> => {
  const path: Array<PropertyKey> = []
  for (let at = place; at.parent !== undefined; at = at.parent) path.unshift(at.key)
  return path
}

const TOO_DEEP = `expected at most ${JsonShape.MOST_LEVELS} levels of nesting`

/** More of a way that is hundreds of keys long helps nobody. */
const MOST_NAMED = 3

/** The beginning of the way to what is nested too deeply. */
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
