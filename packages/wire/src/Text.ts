/**
 * Text that a client sends: any characters but U+0000.
 *
 * PostgreSQL has no text with U+0000 in it, so a request that carries one is refused at the edge, on every database. What a model or a
 * tool sends is not refused: it is stored as JSON, which escapes the character.
 */
import { Schema } from "effect"

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

/** An object whose keys and strings have no U+0000, however deep they are. */
export const JsonObject = Schema.Record(Schema.String, Schema.Json).check(
  Schema.makeFilter((json) => {
    const found = findNul(json)
    return found === undefined ? undefined : { path: found.path, issue: found.message }
  })
)

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

const messageAt = (at: number): string => `expected text without the character U+0000, which is at position ${at}`
