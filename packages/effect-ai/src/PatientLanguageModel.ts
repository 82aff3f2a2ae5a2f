/**
 * Language models of Effect AI that wait out an outage.
 *
 * The patient model is a `LanguageModel` over the given one: it prepares prompts, runs tools and asks for approvals as Effect AI does,
 * and makes each response by a patient call of the given model, whose own resolution of tools is off. So no retry runs a tool, and no
 * limit counts a tool's time.
 *
 * Attempts that failed before content give nothing; after content there is no other call (rule D4). Services that read a provider's
 * requests and responses (`ResponseIdTracker`, `CurrentSpanTransformer`) see those of the given model alone.
 *
 * The value of an object is the given model's: it alone knows the provider's own form of the schema.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Response from "effect/ai/Response"
import * as ResponseIdTracker from "effect/ai/ResponseIdTracker"
import * as Telemetry from "effect/ai/Telemetry"
import { type BridgeOptions, isContentPart, policyOf } from "holdfast/bridge"
import { type FromAsyncIterable, PatientStream } from "@holdfast/providers"
import * as Model from "effect/ai/Model"
import * as SingleResponse from "./SingleResponse.ts"
import { errorOf } from "./FailureAsError.ts"

/**
 * Returns the same layer, with patience. Throws a `HoldfastError` where an option is wrong.
 *
 * **Gotchas**
 *
 * The HTTP client underneath must make no retries of its own, such as those of `HttpClient.retryTransient`: they would multiply (rule C9).
 */
export const holdfast = <ROut, E, RIn>(
  model: Layer.Layer<ROut | LanguageModel.LanguageModel, E, RIn>,
  options: BridgeOptions = {}
): Layer.Layer<ROut | LanguageModel.LanguageModel, E, RIn> => {
  const patient = responder(options)
  const made = Effect.flatMap(LanguageModel.LanguageModel, (given) => make(given, patient))
  return Layer.provideMerge(Layer.effect(LanguageModel.LanguageModel, made), model) as typeof model
}

// --- internal

const make = Effect.fnUntraced(function* (given: LanguageModel.LanguageModel, patient: Responder) {
  const outer = yield* LanguageModel.make({
    supportsSystemMessagesInHistory: given.supportsSystemMessagesInHistory,
    codecTransformer: () => ({ codec: VALUE as never, jsonSchema: {} }),
    generateText: Effect.fnUntraced(function* (options) {
      const call = yield* Call
      const method = options.responseFormat.type === "json" ? "generateObject" : "generateText"
      const response = Stream.provideContext(SingleResponse.whole(given, options), call.readers)
      const { content, value } = Option.getOrThrow(yield* Stream.runHead(patient(method, response, () => true)))
      call.value = value
      return yield* Effect.forEach(content, (part) => encoded(method, part, options))
    }),
    streamText: (options) =>
      Effect.map(Call, ({ readers }) => Stream.provideContext(SingleResponse.streamed(given, options), readers)).pipe(
        Stream.unwrap,
        (parts) => patient("streamText", parts, isContentPart),
        Stream.mapEffect((part) => encoded("streamText", part, options))
      )
  }).pipe(Effect.updateContext(begun))
  const methods = {
    generateText: (options: never) => Effect.updateContext(outer.generateText(options), begun),
    generateObject: (options: never) => Effect.updateContext(outer.generateObject(options), begun),
    streamText: (options: never) => Stream.updateContext(outer.streamText(options), begun)
  }
  return LanguageModel.LanguageModel.of({ ...outer, ...(methods as object) }) // Their types follow from the options.
})

/** A call of the patient model: what is kept from it for the given model, and the value that came (M3). */
const Call = Context.Reference<{ readonly readers: Context.Context<never>; value: unknown }>(
  "@holdfast/effect-ai/Call",
  { defaultValue: () => ({ readers: Context.empty(), value: undefined }) }
)

const READERS = [ResponseIdTracker.ResponseIdTracker, Telemetry.CurrentSpanTransformer] as const

const begun = <R>(context: Context.Context<R>): Context.Context<R> => {
  const readers = Context.pick(...READERS)(context as never)
  return Context.omit(...READERS)(Context.add(context, Call, { readers, value: undefined })) as never
}

const VALUE = Schema.decodeTo(Schema.Unknown, {
  decode: SchemaGetter.transformEffect(() => Effect.map(Call, ({ value }) => value)), // M3
  encode: SchemaGetter.passthrough()
})(Schema.Unknown)

/** A part in the form in which a provider gives it. A call of a tool that was not offered fails, unless calls are checked later. */
const encoded = (
  method: string,
  part: Response.AnyPart,
  { toolCallValidation, tools }: LanguageModel.ProviderOptions
): Effect.Effect<never, AiError.AiError> => {
  const availableTools = tools.map(({ name }) => name)
  if (part.type === "tool-call" && !part.providerExecuted && !availableTools.includes(part.name)) {
    const reason = new AiError.ToolNotFoundError({ toolName: part.name, availableTools })
    if (toolCallValidation !== "deferred") return Effect.fail(AiError.make({ module: "Holdfast", method, reason }))
  }
  const given = part.type === "tool-result" ? { ...part, result: part.encodedResult } : part
  return Effect.orDie(encode(given)) as never // The given model decoded it.
}

const encode = Schema.encodeUnknownEffect(Response.AllParts())

/** Makes one response, by as many calls as the policy allows. */
type Responder = ReturnType<typeof responder>

/**
 * Reads the options once. Throws a `HoldfastError` that names what is wrong.
 *
 * An error that was given up is the model's own. A silence, a cut and a lost connection without an `AiError` are `InternalProviderError`s.
 */
const responder = ({ onRetry, retry, signal }: BridgeOptions) => {
  const policy = policyOf(retry)
  return <A>(
    method: string,
    stream: Stream.Stream<A, FromAsyncIterable.Thrown>,
    isContent: (element: A) => boolean
  ): Stream.Stream<A, AiError.AiError> =>
    Effect.map(target, (target) => PatientStream.make(policy, { target, stream, isContent, onRetry, signal })).pipe(
      Stream.unwrap,
      Stream.catch(({ cause, failure, status }) => {
        if (status === "aborted") return Stream.fromEffect(Effect.interrupt)
        const error = cause?.error
        // An error part reaches the consumer as it came.
        if (Response.isPart(error)) return Stream.succeed(error as A)
        return Stream.fail(AiError.isAiError(error) ? error : errorOf(method, failure))
      })
    )
}

/** What is called, where `Model` provided its names. */
const target = Effect.map(Effect.context<never>(), (context) => ({
  provider: Context.getOrElse(context, Model.ProviderName, () => "default"),
  model: Context.getOrElse(context, Model.ModelName, () => "model")
}))
