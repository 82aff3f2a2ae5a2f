/** Names the parts of a response of the AI SDK's models, of any version, for `ResponseReader`. */
import type { LanguageModelV2StreamPart, LanguageModelV3StreamPart, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { ToolArguments } from "@holdfast/providers"
import { defined } from "@holdfast/wire"
import type { Usage } from "holdfast"
import { type Metadata, type PartNames, usageOf } from "holdfast/bridge"
import * as Files from "./Files.ts"
import { type FinishPart, isCut } from "./FinishPart.ts"

/** A part of a response, of any version. */
export type Part = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

/** Where a part has what is read of it. */
export const names: PartNames<Part> = {
  // Files of version 2 have none.
  metadata: (part) => ("providerMetadata" in part ? (part.providerMetadata as Metadata.Metadata) : undefined),
  call: ({ input, toolCallId, toolName }) => ToolArguments.toCall({ toolCallId, toolName, text: input, wasCut: false }),
  files: Files.ofResponse,
  finish: (part) =>
    isCut(part)
      ? undefined
      : {
          reason: typeof part.finishReason === "string" ? part.finishReason : part.finishReason.unified,
          usage: countsOf(part.usage)
        }
}

// --- internal

/** Version 2 has plain numbers. */
const countsOf = (usage: FinishPart["usage"]): Usage => {
  const { inputTokens, outputTokens } = usage
  if (typeof inputTokens === "object" && typeof outputTokens === "object") return usageOf({ inputTokens, outputTokens })
  const { cachedInputTokens, reasoningTokens } = usage as Pick<Usage, "cachedInputTokens" | "reasoningTokens">
  return defined({
    inputTokens: typeof inputTokens === "number" ? inputTokens : undefined,
    outputTokens: typeof outputTokens === "number" ? outputTokens : undefined,
    cachedInputTokens,
    reasoningTokens
  })
}
