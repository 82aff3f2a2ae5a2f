/**
 * Language models of Effect AI that wait out an outage.
 *
 * The patient model is a `LanguageModel` over the given one: it prepares prompts, runs tools and asks for approvals as Effect AI does, and makes each
 * response by a patient call of the given model, whose own resolution of tools is off. So no retry runs a tool, and no limit counts a tool's time.
 *
 * PatientLanguageModel.M1. Attempts that failed before content give nothing; after content there is no other call (rule D4).
 * PatientLanguageModel.M2. Services that read a provider's requests and responses (`ResponseIdTracker`, `CurrentSpanTransformer`) see those of the
 *     given model alone.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as ResponseIdTracker from "effect/ai/ResponseIdTracker"
import * as Telemetry from "effect/ai/Telemetry"
import type { BridgeOptions } from "holdfast/bridge"
import * as EncodedParts from "./EncodedParts.ts"
import * as PatientResponses from "./PatientResponses.ts"

type Service = LanguageModel.LanguageModel

/**
 * Returns the same layer, with patience. Throws a `HoldfastError` where an option is wrong.
 *
 * **Gotchas**
 *
 * The HTTP client underneath must make no retries of its own, such as those of `HttpClient.retryTransient`: they would multiply (rule C9).
 */
export const holdfast = <ROut, E, RIn>(
  model: Layer.Layer<ROut | Service, E, RIn>,
  options: BridgeOptions = {}
): Layer.Layer<ROut | Service, E, RIn> => {
  const calls = PatientResponses.make(options)
  const patient = Layer.effect(
    LanguageModel.LanguageModel,
    Effect.flatMap(LanguageModel.LanguageModel, (inner) => make(inner, calls))
  )
  return Layer.provideMerge(patient, model) as Layer.Layer<ROut | Service, E, RIn>
}

// --- internal

const make = Effect.fnUntraced(function* (model: Service, calls: PatientResponses.PatientResponses) {
  const inner = anyOf(model)
  const hooks = {
    supportsSystemMessagesInHistory: model.supportsSystemMessagesInHistory,
    generateText: (options: LanguageModel.ProviderOptions) =>
      Effect.flatMap(calls.whole("generateText", revealed(inner.generateText(requestOf(options)))), ({ content }) =>
        EncodedParts.all("generateText", content, options)
      ),
    streamText: (options: LanguageModel.ProviderOptions) =>
      Stream.mapEffect(calls.streamed("streamText", revealedStream(inner.streamText(requestOf(options)))), (part) =>
        EncodedParts.one("streamText", part, options)
      )
  }
  const outer = yield* hidden(LanguageModel.make(hooks))
  const generateObject = (options: object) =>
    Effect.suspend(() => {
      // The provider's own form of the schema is known to the given model alone, so its value is taken.
      let value: unknown
      const decode = SchemaTransformation.transform({ decode: () => value, encode: (value) => value })
      const codec = Schema.Unknown.pipe(Schema.decodeTo(Schema.Unknown, decode))
      const made = LanguageModel.make({
        ...hooks,
        codecTransformer: () => ({ codec: codec as never, jsonSchema: {} }),
        generateText: (request) =>
          Effect.flatMap(
            calls.whole("generateObject", revealed(inner.generateObject(objectRequestOf(request)))),
            (response) => {
              value = response.value
              return EncodedParts.all("generateObject", response.content, request)
            }
          )
      })
      return Effect.flatMap(made, (outer) => anyOf(outer).generateObject(options))
    })
  const { generateText, streamText } = anyOf(outer)
  const patient: AnyModel = {
    generateText: (options) => hidden(generateText(options)),
    generateObject: (options) => hidden(generateObject(options)),
    streamText: (options) => Stream.updateContext(streamText(options), hide<never>)
  }
  return LanguageModel.LanguageModel.of({ ...outer, ...(patient as object) })
})

/** The methods of a model without their generic types, which follow from options that are passed on here. */
interface AnyModel {
  readonly generateText: (options: object) => Effect.Effect<Content, AiError.AiError>
  readonly generateObject: (options: object) => Effect.Effect<Content & { readonly value: unknown }, AiError.AiError>
  readonly streamText: (options: object) => Stream.Stream<PatientResponses.StreamPart, AiError.AiError>
}

interface Content {
  readonly content: ReadonlyArray<PatientResponses.Part>
}

const anyOf = (model: Service): AnyModel => model as never

/** The request for one response: tools are described, and neither run nor checked. */
const requestOf = ({ prompt, toolChoice, tools }: LanguageModel.ProviderOptions) => ({
  prompt,
  ...(tools.length === 0 ? undefined : { toolChoice, toolkit: EncodedParts.described(tools) }),
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
})

const objectRequestOf = (options: LanguageModel.ProviderOptions) => {
  const { type: _, ...format } = options.responseFormat
  return { ...requestOf(options), ...format }
}

/** M2: kept from the outer model for the given one. */
class Hidden extends Context.Service<Hidden, Context.Context<never>>()("@holdfast/effect-ai/Hidden") {}

const READERS = [ResponseIdTracker.ResponseIdTracker, Telemetry.CurrentSpanTransformer] as const

const hide = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.omit(...READERS)(Context.add(context, Hidden, Context.pick(...READERS)(context as never))) as never

const reveal = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.merge(
    context,
    Context.getOrElse(context as never, Hidden, () => Context.empty())
  )

const hidden = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => Effect.updateContext(effect, hide)

const revealedStream = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
  Stream.updateContext(stream, reveal<R>)

const revealed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(effect, reveal)
