/**
 * Merges an operator's fields into the body of a request.
 *
 * The merge is JSON Merge Patch (RFC 7396): objects merge key by key, `null` removes a field, and any other value, a list
 * included, replaces what is there.
 */
import type * as Schema from "effect/Schema"
import { isObject } from "../decoding/Json.ts"

/** A JSON object. */
export type JsonFields = { readonly [key: string]: Schema.Json }

/** Fields that an adapter merges into every request body. */
export interface Options {
  /** For every model of the provider: any field that it accepts, such as `temperature`, `reasoning_effort` or `stop`. */
  readonly body?: JsonFields | undefined
  /** By model name, merged after `body`. */
  readonly modelBody?: ReadonlyMap<string, JsonFields> | undefined
}

/** The body with the fields for all models, then those for one model. */
export const merge = (written: JsonFields, model: string, { body, modelBody }: Options): JsonFields => {
  const patches = [body, modelBody?.get(model)].filter((patch) => patch !== undefined)
  return patches.reduce(apply, written)
}

/** RFC 7396, section 2. */
export const apply = (target: JsonFields, patch: JsonFields): JsonFields => {
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else if (isObject(value)) merged.set(key, apply(objectOr(merged.get(key)), value))
    else merged.set(key, value)
  }
  return Object.fromEntries(merged)
}

// --- internal

const NOTHING: JsonFields = {}

const objectOr = (value: Schema.Json | undefined): JsonFields => (isObject(value) ? value : NOTHING)
