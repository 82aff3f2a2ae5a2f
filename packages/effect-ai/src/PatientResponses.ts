/**
 * Patient calls of a language model: whole or streamed, with errors that are Effect AI's own.
 *
 * PatientResponses.M1. A stream without its `finish` part was cut, and has failed (rule C6). An `error` part is a failure like any other (rule C3).
 * PatientResponses.M2. An error that was given up is the model's own. A silence, a cut and a lost connection without an `AiError` are `InternalProviderError`s.
 */
import type { Patience } from "@holdfast/kernel"
import { FromAsyncIterable, PatientStream } from "@holdfast/providers"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import * as Model from "effect/ai/Model"
import * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import { type BridgeOptions, cut, isContentPart, policyOf } from "holdfast/bridge"

/** Any part of a stream. */
export type StreamPart = Response.StreamPart<Record<string, Tool.Any>, "deferred">

/** Any part of a whole response. */
export type Part = Response.Part<Record<string, Tool.Any>, "deferred">

/** Makes calls with the patience of one policy. */
export type PatientResponses = ReturnType<typeof make>

/** Reads the options once. Throws a `HoldfastError` that names what is wrong. */
export const make = ({ onRetry, retry, signal }: BridgeOptions) => {
  const policy = policyOf(retry)
  const patient = <A, R>(
    method: string,
    call: Stream.Stream<A, unknown, R>,
    isContent: (element: A) => boolean
  ): Stream.Stream<A, AiError.AiError, R> =>
    Stream.unwrap(
      Effect.map(target, (target) =>
        PatientStream.make(policy, { target, stream: Stream.catch(call, thrown), isContent, onRetry, signal })
      )
    ).pipe(
      Stream.catch((ended): Stream.Stream<A, AiError.AiError> =>
        ended.status === "aborted" ? Stream.fromEffect(Effect.interrupt) : givenUp(method, ended)
      )
    )
  return {
    /** A response as a whole. */
    whole: <A, R>(method: string, call: Effect.Effect<A, AiError.AiError, R>): Effect.Effect<A, AiError.AiError, R> =>
      Effect.flatMap(Stream.runHead(patient(method, Stream.fromEffect(call), () => true)), Effect.fromOption).pipe(
        Effect.catchTag("NoSuchElementError", Effect.die)
      ),
    /** A response in parts. */
    streamed: <R>(
      method: string,
      call: Stream.Stream<StreamPart, AiError.AiError, R>
    ): Stream.Stream<StreamPart, AiError.AiError, R> => patient(method, whole(call), isContentPart)
  }
}

// --- internal

/** What is called, where `Model` provided its names. */
const target = Effect.map(
  Effect.all([Effect.serviceOption(Model.ProviderName), Effect.serviceOption(Model.ModelName)]),
  ([provider, model]) => ({
    provider: Option.getOrElse(provider, () => "default"),
    model: Option.getOrElse(model, () => "model")
  })
)

const thrown = (error: unknown): Stream.Stream<never, FromAsyncIterable.Thrown> =>
  Stream.fromEffect(
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.fail(new FromAsyncIterable.Thrown(error, now)))
  )

/** M1 */
const whole = <R>(parts: Stream.Stream<StreamPart, AiError.AiError, R>): Stream.Stream<StreamPart, unknown, R> =>
  Stream.suspend(() => {
    let isFinished = false
    return parts.pipe(
      Stream.mapEffect((part) => {
        isFinished ||= part.type === "finish"
        return part.type === "error" ? Effect.fail<unknown>(part) : Effect.succeed(part)
      }),
      Stream.concat(Stream.suspend(() => (isFinished ? Stream.empty : Stream.fail<unknown>(cut()))))
    )
  })

/** M2 */
const givenUp = <A>(
  method: string,
  { cause, failure }: Patience.CallEnded<FromAsyncIterable.Thrown>
): Stream.Stream<A, AiError.AiError> => {
  const error = cause?.error
  if (AiError.isAiError(error)) return Stream.fail(error)
  // An error part reaches the consumer as it came.
  if (Response.isPart(error)) return Stream.succeed(error as A)
  const reason = new AiError.InternalProviderError({ description: failure.message })
  return Stream.fail(AiError.make({ module: "Holdfast", method, reason }))
}
