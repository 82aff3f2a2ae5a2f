/**
 * Narrows values from `JSON.parse` without schemas.
 *
 * Schemas are too slow on the path of a token: an adapter reads the few fields that it knows, and a field of an unexpected shape
 * counts as absent.
 */
import { JsonShape } from "@holdfast/wire"

/** A parsed JSON object. */
export type JsonObject = { readonly [key: string]: unknown }

/** Whether a value is an object: neither null nor a list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The string, or `undefined`, also for an empty one: an empty delta is no content (C8). */
export const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

/** The object, or an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The object in a text; `undefined`: it has none. Google sends errors as an array of one. */
export const objectIn = (text: string): JsonObject | undefined => {
  const value: unknown = JsonShape.parse(text)
  const json: unknown = Array.isArray(value) ? value[0] : value
  return isObject(json) ? json : undefined
}

/** The object in a text, or an empty one. */
export const parsed = (text: string | undefined): JsonObject =>
  text === undefined ? {} : objectOf(JsonShape.parse(text))

/** The elements that are objects. */
export const objectsOf = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isObject) : []

/** The whole number from 0 on, or `undefined`. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
