/**
 * A target: one provider and one model of it, written `provider/model`.
 *
 * The provider is the name it has in the configuration; the model is whatever that provider calls it, slashes included
 * (`openrouter/anthropic/claude-sonnet-4.5` is provider `openrouter`).
 */
import { Schema } from "effect"

export const Target = Schema.Struct({
  provider: Schema.NonEmptyString,
  model: Schema.NonEmptyString
})
export type Target = typeof Target.Type

/** `provider/model`, as people write it and as events carry it. */
export const format = (target: Target): string => `${target.provider}/${target.model}`

/** What `parse` reads, as a regular expression of a JSON Schema. */
export const PATTERN = "^[^/]+/[\\s\\S]+$"

/** Reads `provider/model`; `undefined` where there is no slash, or nothing on one side of it. */
export const parse = (text: string): Target | undefined => {
  const slash = text.indexOf("/")
  return slash > 0 && slash < text.length - 1
    ? { provider: text.slice(0, slash), model: text.slice(slash + 1) }
    : undefined
}
