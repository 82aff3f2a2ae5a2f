/**
 * A language model of Effect AI as a provider of the kernel.
 *
 * ModelAsProvider.M1. One call is one `streamText`, whose tools are described and not run (rule C9).
 * ModelAsProvider.M2. A stream that ends without its `finish` part was cut; the kernel sees no finish either, and the attempt has failed (rule C6).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, Failure, Message } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as EncodedParts from "./EncodedParts.ts"
import type { StreamPart } from "./PatientResponses.ts"
import * as Prompts from "./Prompts.ts"

/** The port `Provider` over a model, for `Turn.runTurn` and every other use of the port. */
export const provider = <ROut, E, RIn>(
  model: Layer.Layer<ROut | LanguageModel.LanguageModel, E, RIn>
): Layer.Layer<Provider.Provider, E, RIn> =>
  Layer.provide(
    Layer.effect(
      Provider.Provider,
      Effect.map(LanguageModel.LanguageModel, (model) => ({ stream: (request) => eventsOf(model, request) }))
    ),
    model as Layer.Layer<LanguageModel.LanguageModel, E, RIn>
  )

// --- internal

const eventsOf = (
  model: LanguageModel.LanguageModel,
  { messages, system, tools }: Provider.ProviderRequest
): Stream.Stream<Provider.ProviderEvent, Failure.ProviderFailure> =>
  Stream.suspend(() => {
    const reader = new Reader()
    const parts = model.streamText({
      prompt: Prompts.promptOf(system, messages),
      toolkit: EncodedParts.described(tools.map(toolOf)),
      disableToolCallResolution: true,
      toolCallValidation: "deferred"
    }) as Stream.Stream<StreamPart, unknown>
    return parts.pipe(
      Stream.flatMap((part) =>
        part.type === "error" ? Stream.fail<unknown>(part) : Stream.fromIterable(reader.eventsOf(part))
      ),
      Stream.catch((error) => Stream.fromEffect(Effect.flatMap(Clock.currentTimeMillis, failed(error))))
    )
  })

const toolOf = ({ description, inputSchema, name }: Provider.ProviderRequest["tools"][number]): Tool.Any =>
  Tool.dynamic(name, { description, parameters: inputSchema as JsonSchema.JsonSchema })

const failed = (error: unknown) => (now: number) =>
  Effect.fail(new Failure.ProviderFailure({ failure: Classification.ofThrown(error, now) }))

/** Reads the parts of one response. */
class Reader {
  /** Of the reasoning blocks: what must go back comes with any of their parts. */
  private readonly metadata = new Map<string, Prompts.Metadata>()

  eventsOf(part: StreamPart): ReadonlyArray<Provider.ProviderEvent> {
    switch (part.type) {
      case "text-delta":
        return part.delta === "" ? [] : [{ type: "text-delta", delta: part.delta }]
      case "reasoning-start":
        this.prove(part)
        return []
      case "reasoning-delta":
        this.prove(part)
        return part.delta === "" ? [] : [{ type: "reasoning-delta", delta: part.delta }]
      case "reasoning-end":
        this.prove(part)
        return [{ type: "reasoning-end", ...Prompts.proofOf(this.metadata.get(part.id)) }]
      case "tool-call":
        return part.providerExecuted ? [] : [Prompts.callOf(part, part.metadata)]
      case "file":
        return [{ ...Prompts.filePart(part), ...Prompts.proofOf(part.metadata) }]
      case "finish":
        return [
          { type: "usage", usage: usageOf(part.usage) },
          { type: "finish", finishReason: reasonOf(part.reason) }
        ]
      default:
        return []
    }
  }

  private prove({ id, metadata }: { readonly id: string; readonly metadata: Prompts.Metadata }): void {
    this.metadata.set(id, Prompts.merged(this.metadata.get(id), metadata))
  }
}

const reasonOf = (reason: Response.FinishReason): Message.FinishReason =>
  Message.FinishReason.literals.find((known) => known === reason) ?? "other"

const usageOf = ({ inputTokens, outputTokens }: Response.Usage): Message.Usage =>
  defined({
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
    cachedInputTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite
  })
