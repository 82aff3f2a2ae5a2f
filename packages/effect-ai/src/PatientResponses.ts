/**
 * Gives calls of a language model the patience of one policy; the errors are Effect AI's own.
 *
 * An error that was given up is the model's own. A silence, a cut and a lost connection without an `AiError` are
 * `InternalProviderError`s.
 */
import { type FromAsyncIterable, PatientStream } from "@holdfast/providers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import * as Model from "effect/ai/Model"
import * as Response from "effect/ai/Response"
import { type BridgeOptions, policyOf } from "holdfast/bridge"
import { errorOf } from "./FailureAsError.ts"

/** Makes one response, by as many calls as the policy allows. */
export type Responder = ReturnType<typeof make>

/** Reads the options once. Throws a `HoldfastError` that names what is wrong. */
export const make = ({ onRetry, retry, signal }: BridgeOptions) => {
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

// --- internal

/** What is called, where `Model` provided its names. */
const target = Effect.map(Effect.context<never>(), (context) => ({
  provider: Context.getOrElse(context, Model.ProviderName, () => "default"),
  model: Context.getOrElse(context, Model.ModelName, () => "model")
}))
