/**
 * A language model of Effect AI as a provider of the kernel.
 *
 * One call is one `streamText`, whose tools are described and not run (rule C9).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import { fileOf, type PartNames, ResponseReader, usageOf } from "holdfast/bridge"
import * as EffectPrompts from "./EffectPrompts.ts"
import * as SingleResponse from "./SingleResponse.ts"

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
    const request = { prompt: EffectPrompts.promptOf(system, messages), tools: tools.map(toolOf) }
    return SingleResponse.streamed(model, request).pipe(
      Stream.flatMap((part) => Stream.fromIterable(reader.read(part))),
      Stream.mapError(({ at, error }) => new Failure.ProviderFailure({ failure: Classification.ofThrown(error, at) }))
    )
  })

const NAMES: PartNames<Response.AnyPart> = {
  metadata: (part) => part.metadata,
  call: ({ id, name, params, type }) => ({ type, toolCallId: id, toolName: name, input: params }),
  files: (part) => [fileOf(part)],
  finish: ({ reason, usage }) => ({ reason, usage: usageOf(usage) }),
  within: "info"
}

const toolOf = ({ description, inputSchema, name }: Provider.ProviderRequest["tools"][number]): Tool.Any =>
  Tool.dynamic(name, { description, parameters: inputSchema as JsonSchema.JsonSchema })
