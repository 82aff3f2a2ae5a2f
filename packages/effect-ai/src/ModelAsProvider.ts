/**
 * A language model of Effect AI as a provider of the kernel.
 *
 * ModelAsProvider.M1. One call is one `streamText`, whose tools are described and not run (rule C9).
 * ModelAsProvider.M2. A stream that ends without its `finish` part was cut; the kernel sees no finish either, and the attempt has failed (rule C6).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import { fileOf, type PartNames, ResponseReader, usageOf } from "holdfast/bridge"
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
    const reader = new ResponseReader(NAMES)
    const parts = model.streamText({
      prompt: Prompts.promptOf(system, messages),
      toolkit: EncodedParts.described(tools.map(toolOf)),
      disableToolCallResolution: true,
      toolCallValidation: "deferred"
    }) as Stream.Stream<StreamPart, unknown>
    return parts.pipe(
      Stream.flatMap((part) =>
        part.type === "error" ? Stream.fail<unknown>(part) : Stream.fromIterable(reader.read(part))
      ),
      Stream.catch((error) => Stream.fromEffect(Effect.flatMap(Clock.currentTimeMillis, failed(error))))
    )
  })

const NAMES: PartNames<StreamPart> = {
  metadata: (part) => part.metadata,
  call: ({ id, name, params, type }) => ({ type, toolCallId: id, toolName: name, input: params as never }),
  files: (part) => [fileOf(part)],
  finish: ({ reason, usage }) => ({ reason, usage: usageOf(usage) }),
  within: "info"
}

const toolOf = ({ description, inputSchema, name }: Provider.ProviderRequest["tools"][number]): Tool.Any =>
  Tool.dynamic(name, { description, parameters: inputSchema as JsonSchema.JsonSchema })

const failed = (error: unknown) => (now: number) =>
  Effect.fail(new Failure.ProviderFailure({ failure: Classification.ofThrown(error, now) }))
