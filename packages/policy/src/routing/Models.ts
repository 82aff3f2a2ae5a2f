/** The configured capabilities of models: a request skips fallbacks that it does not fit. */
import type { Router } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"

/** The capabilities of one model. Absent: no limit is known. */
export const Capabilities = Schema.Struct({
  /** Tokens, of the request and the answer together. */
  contextWindow: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThan(0, { message: "Expected a number of tokens above 0" }))
  ),
  /** Whether it can call tools. */
  tools: Schema.optionalKey(Schema.Boolean)
})
export type Capabilities = typeof Capabilities.Type

/** By `provider/model`; a target that is not listed is assumed to support every request. */
export type Models = { readonly [target: string]: Capabilities }

/** The request of the next attempt. */
export type Request = Router.Question["request"]

/** Estimates the tokens of a request for a target, without a call. */
export type CountTokens = (request: Request, target: Target.Target) => number

/** Why a request does not fit a target. */
export const Unfit = Schema.Literals(["context", "tools"])
export type Unfit = typeof Unfit.Type

/** Returns why a target does not support a request; `undefined`: it does. Tokens are counted only if the window is known. */
export const unfit = (
  models: Models,
  request: Request,
  target: Target.Target,
  countTokens: CountTokens
): Unfit | undefined => {
  const { contextWindow, tools } = models[Target.format(target)] ?? {}
  if (tools === false && request.tools.length > 0) return "tools"
  return contextWindow !== undefined && countTokens(request, target) > contextWindow ? "context" : undefined
}
