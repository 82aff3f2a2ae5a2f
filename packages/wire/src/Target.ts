/**
 * A target: a provider and one of its models, written `provider/model`.
 *
 * The provider is its name in the configuration. The model is the provider's own name for it, slashes included
 * (`openrouter/anthropic/claude-sonnet-4.5` is provider `openrouter`).
 */
import * as Schema from "effect/Schema"
import { isNonEmpty } from "./values/Checks.ts"

const NonEmpty = Schema.String.check(isNonEmpty)

/** A provider and one of its models. */
export const Target = Schema.Struct({
  provider: NonEmpty,
  model: NonEmpty
})
export type Target = typeof Target.Type

/** `provider/model`, as written in configuration and events. */
export const format = (target: Target): string => `${target.provider}/${target.model}`

/** The texts that `parse` accepts, as a regular expression for a JSON Schema. */
export const PATTERN = "^[^/]+/[\\s\\S]+$"

/** Parses `provider/model`; `undefined` where the slash, the provider or the model is missing. */
export const parse = (text: string): Target | undefined => {
  const slash = text.indexOf("/")
  return slash > 0 && slash < text.length - 1
    ? { provider: text.slice(0, slash), model: text.slice(slash + 1) }
    : undefined
}
