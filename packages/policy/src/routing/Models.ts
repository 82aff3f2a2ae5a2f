/** What models can take, where somebody has said so: a request goes to no stand-in that it does not fit. */
import type { Router } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import { Schema } from "effect"

/** What one model can take. What is absent is not known to be a limit. */
export const Capabilities = Schema.Struct({
  /** Tokens, of the request and the answer together. */
  contextWindow: Schema.optionalKey(
    Schema.Int.check(Schema.isGreaterThan(0, { message: "Expected a number of tokens above 0" }))
  ),
  /** Whether it can call tools. */
  tools: Schema.optionalKey(Schema.Boolean)
})
export type Capabilities = typeof Capabilities.Type

/** By `provider/model`; a target that is not there is taken to be able. */
export type Models = { readonly [target: string]: Capabilities }

/** What an attempt would send. */
export type Request = Router.Question["request"]

/** How many tokens a request is for a target, as nearly as can be told without asking it. */
export type CountTokens = (request: Request, target: Target.Target) => number

/** Why a request does not fit a target. */
export const Unfit = Schema.Literals(["context", "tools"])
export type Unfit = typeof Unfit.Type

/** Why a target cannot take a request; `undefined` when it can. Counts no tokens where there is no window to hold them against. */
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
