/**
 * Turns the stream of a model of the AI SDK into the events of a response.
 *
 * ResponseEvents.E1. The metadata of a reasoning block, wherever in it the provider gives it, and of a tool call goes into the message as `proof`.
 */
import type {
  LanguageModelV2StreamPart,
  LanguageModelV3StreamPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { ToolArguments } from "@holdfast/providers"
import type { ModelEvent, Usage } from "holdfast"
import { type FinishPart, isCut } from "./FinishPart.ts"

/** A part of a response, of any version. */
export type Part = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

/** What the kernel makes of it. */
export type Event = Exclude<ModelEvent, string>

/** The events of one response. */
export class ResponseEvents {
  /** Of the reasoning blocks that have not ended, by their ids. */
  private readonly metadata = new Map<string, SharedV4ProviderMetadata>()

  /** The events of a part; throws the error of an `error` part. */
  of(part: Part): ReadonlyArray<Event> {
    switch (part.type) {
      case "text-delta":
        return [{ type: "text-delta", delta: part.delta }]
      case "reasoning-start":
        this.note(part)
        return []
      case "reasoning-delta":
        this.note(part)
        return [{ type: "reasoning-delta", delta: part.delta }]
      case "reasoning-end": {
        this.note(part)
        const { anthropic, ...others } = this.metadata.get(part.id) ?? {}
        this.metadata.delete(part.id)
        const { redactedData, signature, ...more } = anthropic ?? {}
        return [
          {
            type: "reasoning-end",
            ...(typeof signature === "string" ? { signature } : undefined),
            ...(typeof redactedData === "string" ? { redacted: redactedData } : undefined),
            ...proofOf({ ...others, ...(Object.keys(more).length === 0 ? undefined : { anthropic: more }) })
          }
        ]
      }
      case "tool-call": {
        // Tools that the provider runs itself are its own.
        if (part.providerExecuted === true) return []
        const { input, providerMetadata, toolCallId, toolName } = part
        const call = ToolArguments.toCall({ toolCallId, toolName, text: input, wasCut: false })
        return [{ ...call, ...proofOf(providerMetadata) }]
      }
      case "error":
        throw part.error
      case "finish":
        // Without a finish the attempt has failed (rule C6).
        if (isCut(part)) return []
        return [
          { type: "usage", usage: usageOf(part.usage) },
          { type: "finish", finishReason: reasonOf(part.finishReason) }
        ]
      default:
        return []
    }
  }

  private note({
    id,
    providerMetadata
  }: {
    readonly id: string
    readonly providerMetadata?: SharedV4ProviderMetadata
  }) {
    if (providerMetadata === undefined) return
    const known = this.metadata.get(id)
    const merged = Object.entries(providerMetadata).map(([name, fields]) => [name, { ...known?.[name], ...fields }])
    this.metadata.set(id, { ...known, ...Object.fromEntries(merged) })
  }
}

// --- internal

/** ResponseEvents.E1 */
const proofOf = (metadata: SharedV4ProviderMetadata | undefined): { readonly proof?: string } =>
  metadata === undefined || Object.keys(metadata).length === 0 ? {} : { proof: JSON.stringify(metadata) }

const REASONS = ["stop", "length", "tool-calls", "content-filter"] as const

const reasonOf = (reason: FinishPart["finishReason"]): (typeof REASONS)[number] | "other" => {
  const unified = typeof reason === "string" ? reason : reason.unified
  return REASONS.find((known) => known === unified) ?? "other"
}

const usageOf = (usage: FinishPart["usage"]): Usage => {
  const { inputTokens, outputTokens } = usage
  if (typeof inputTokens === "object" && typeof outputTokens === "object")
    return counted({
      inputTokens: inputTokens.total,
      outputTokens: outputTokens.total,
      reasoningTokens: outputTokens.reasoning,
      cachedInputTokens: inputTokens.cacheRead,
      cacheWriteTokens: inputTokens.cacheWrite
    })
  const { cachedInputTokens, reasoningTokens } = usage as {
    readonly cachedInputTokens?: number
    readonly reasoningTokens?: number
  }
  return counted({
    inputTokens: typeof inputTokens === "number" ? inputTokens : undefined,
    outputTokens: typeof outputTokens === "number" ? outputTokens : undefined,
    cachedInputTokens,
    reasoningTokens
  })
}

const counted = (usage: { readonly [K in keyof Usage]: Usage[K] | undefined }): Usage =>
  Object.fromEntries(Object.entries(usage).filter(([, tokens]) => tokens !== undefined))
