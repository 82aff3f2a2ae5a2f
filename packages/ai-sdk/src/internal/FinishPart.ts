/**
 * Recognises the `finish` part of a response that had no end: providers of the AI SDK send one when their connection closes, also in the
 * middle.
 *
 * `interrupted`, and in older versions `other` or `unknown` without a reason of the provider, mean that the provider sent no terminal
 * event (rule C6). The AI SDK drops the difference for models of version 2 under a middleware: there an end by `other` counts as cut.
 */
import type { LanguageModelV2StreamPart, LanguageModelV3StreamPart, LanguageModelV4StreamPart } from "@ai-sdk/provider"

/** A `finish` part of any version. */
export type FinishPart = Extract<
  LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart,
  { readonly type: "finish" }
>

/** Whether the response was cut. */
export const isCut = ({ finishReason }: Pick<FinishPart, "finishReason">): boolean => {
  if (typeof finishReason === "string") return finishReason === "unknown"
  const { raw, unified } = finishReason
  return unified === "interrupted" || (unified === "other" && raw === undefined)
}
