/** The configured capabilities of models: a request skips fallbacks that it does not fit. */
import type { Router } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import { setting } from "../profile/Setting.ts"

/** A media type, or all of one kind. */
const MEDIA_TYPES = /^[a-z]+\/(?:[a-z0-9][a-z0-9.+_-]*|\*)$/u
const FILES = 'a media type such as "application/pdf", or "image/*" for every image'

/** The capabilities of one model. Absent: no limit is known. */
export const Capabilities = Schema.Struct({
  contextWindow: setting(
    Schema.Int.check(Schema.isGreaterThan(0, { message: "Expected a number of tokens above 0" })),
    {
      doc: "tokens, of the request and the answer together. A request is counted by its provider's last count, and beyond that by an estimate",
      unset: "not known"
    }
  ),
  tools: setting(Schema.Boolean, { doc: "`false`: it can call none", default: true }),
  files: setting(
    Schema.Union([
      Schema.Boolean,
      Schema.Array(Schema.String.check(Schema.isPattern(MEDIA_TYPES, { message: `Expected ${FILES}` })))
    ]).annotate({ message: `Expected true, false, or a list of media types: ${FILES}` }),
    {
      doc: 'the [files](configuration.md#files-in-prompts) that it takes: `false` (none), `true`, or a list of media types such as `["image/*", "application/pdf"]`',
      unset: "`true`: all that its provider's format has"
    }
  )
})
export type Capabilities = typeof Capabilities.Type

/** By `provider/model`; a target that is not listed is assumed to support every request. */
export type Models = { readonly [target: string]: Capabilities }

/** The request of the next attempt. */
type Request = Router.Question["request"]

/** Estimates the tokens of a request for a target, without a call. */
export type CountTokens = (request: Request, target: Target.Target) => number

/** Why a request does not fit a target. */
export const Unfit = Schema.Literals(["context", "tools", "files"])
export type Unfit = typeof Unfit.Type

/** The media types that a model takes; `undefined`: all. */
export const filesOf = ({ files }: Capabilities): ReadonlyArray<string> | undefined =>
  typeof files === "boolean" ? (files ? undefined : []) : files

/** Whether a media type is among those that a model takes. */
export const accepts = (accepted: ReadonlyArray<string>, mediaType: string): boolean =>
  accepted.some((entry) => entry === mediaType || (entry.endsWith("/*") && mediaType.startsWith(entry.slice(0, -1))))

/**
 * Whether prompts of a request have a file that a target does not take. Its call would be refused for good, so even a primary is skipped
 * where a stand-in takes the file.
 */
export const isUnfitForFiles = (models: Models, { messages }: Request, target: Target.Target): boolean => {
  const accepted = filesOf(models[Target.format(target)] ?? {})
  return (
    accepted !== undefined &&
    messages.some(
      ({ content, role }) =>
        role === "user" && content.some((part) => part.type === "file" && !accepts(accepted, part.mediaType))
    )
  )
}

/** Returns why a target does not support a request; `undefined`: it does. Tokens are counted only if the window is known. */
export const unfit = (
  models: Models,
  request: Request,
  target: Target.Target,
  countTokens: CountTokens
): Unfit | undefined => {
  const { contextWindow, tools } = models[Target.format(target)] ?? {}
  if (tools === false && request.tools.length > 0) return "tools"
  if (isUnfitForFiles(models, request, target)) return "files"
  return contextWindow !== undefined && countTokens(request, target) > contextWindow ? "context" : undefined
}
