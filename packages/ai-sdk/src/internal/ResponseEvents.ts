/**
 * Turns the stream of a model of the AI SDK into the events of a response.
 *
 * ResponseEvents.E1. The metadata of a reasoning block, wherever in it the provider gives it, of a tool call and of a file goes into the message as `proof`.
 * ResponseEvents.E2. A reasoning block ends where other content begins: Google's ends it after the tool call that follows it.
 */
import type {
  LanguageModelV2StreamPart,
  LanguageModelV3StreamPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { ToolArguments } from "@holdfast/providers"
import { defined, Message } from "@holdfast/wire"
import type { ModelEvent, Usage } from "holdfast"
import * as Files from "./Files.ts"
import { type FinishPart, isCut } from "./FinishPart.ts"

/** A part of a response, of any version. */
export type Part = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

/** What the kernel makes of it. */
export type Event = Exclude<ModelEvent, string>

/** The events of one response. */
export class ResponseEvents {
  /** The reasoning block that has not ended. */
  private block:
    | { readonly id: string; readonly metadata: SharedV4ProviderMetadata; readonly hasText: boolean }
    | undefined = undefined

  /** The events of a part; throws the error of an `error` part. */
  of(part: Part): ReadonlyArray<Event> {
    switch (part.type) {
      case "text-delta":
        return part.delta === "" ? [] : [...this.end(), { type: "text-delta", delta: part.delta }]
      case "reasoning-start":
        return this.note(part, false)
      case "reasoning-delta":
        return [...this.note(part, part.delta !== ""), { type: "reasoning-delta", delta: part.delta }]
      case "reasoning-end":
        return [...this.note(part, false), ...this.end()]
      case "tool-call": {
        // Tools that the provider runs itself are its own.
        if (part.providerExecuted === true) return []
        const { input, providerMetadata, toolCallId, toolName } = part
        const call = ToolArguments.toCall({ toolCallId, toolName, text: input, wasCut: false })
        return [...this.end(), { ...call, ...proofOf(providerMetadata) }]
      }
      case "file":
        return [...this.end(), ...Files.ofResponse(part).map((file) => ({ ...file, ...proofOf(metadataOf(part)) }))]
      case "error":
        throw part.error
      case "finish":
        // Without a finish the attempt has failed (rule C6).
        if (isCut(part)) return []
        return [
          ...this.end(),
          { type: "usage", usage: usageOf(part.usage) },
          { type: "finish", finishReason: reasonOf(part.finishReason) }
        ]
      default:
        return []
    }
  }

  /** Adds to the block of an id; the end of another block, where one was open. */
  private note(
    { id, providerMetadata = {} }: { readonly id: string; readonly providerMetadata?: SharedV4ProviderMetadata },
    hasText: boolean
  ): ReadonlyArray<Event> {
    const ended = this.block?.id === id ? [] : this.end()
    const { block = { id, metadata: {}, hasText: false } } = this
    const added = Object.entries(providerMetadata).map(([name, fields]) => [
      name,
      { ...block.metadata[name], ...fields }
    ])
    this.block = {
      id,
      metadata: { ...block.metadata, ...Object.fromEntries(added) },
      hasText: block.hasText || hasText
    }
    return ended
  }

  /** Ends the open block (ResponseEvents.E2). A block without text and metadata is none. */
  private end(): ReadonlyArray<Event> {
    if (this.block === undefined) return []
    const { hasText, metadata } = this.block
    this.block = undefined
    const { anthropic, ...others } = metadata
    const { redactedData, signature, ...more } = anthropic ?? {}
    const proof = {
      ...(typeof signature === "string" ? { signature } : undefined),
      ...(typeof redactedData === "string" ? { redacted: redactedData } : undefined),
      ...proofOf({ ...others, ...(Object.keys(more).length === 0 ? undefined : { anthropic: more }) })
    }
    return hasText || Object.keys(proof).length > 0 ? [{ type: "reasoning-end", ...proof }] : []
  }
}

// --- internal

/** ResponseEvents.E1 */
const proofOf = (metadata: SharedV4ProviderMetadata | undefined): { readonly proof?: string } =>
  metadata === undefined || Object.keys(metadata).length === 0 ? {} : { proof: JSON.stringify(metadata) }

/** Files of version 2 have none. */
const metadataOf = (part: object): SharedV4ProviderMetadata | undefined =>
  "providerMetadata" in part ? (part.providerMetadata as SharedV4ProviderMetadata) : undefined

const reasonOf = (reason: FinishPart["finishReason"]): Message.FinishReason => {
  const unified = typeof reason === "string" ? reason : reason.unified
  return Message.FinishReason.literals.find((known) => known === unified) ?? "other"
}

const usageOf = (usage: FinishPart["usage"]): Usage => {
  const { inputTokens, outputTokens } = usage
  if (typeof inputTokens === "object" && typeof outputTokens === "object")
    return defined({
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
  return defined({
    inputTokens: typeof inputTokens === "number" ? inputTokens : undefined,
    outputTokens: typeof outputTokens === "number" ? outputTokens : undefined,
    cachedInputTokens,
    reasoningTokens
  })
}
