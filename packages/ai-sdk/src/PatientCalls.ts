/**
 * A middleware of the AI SDK that gives every call of a model the patience of a turn.
 *
 * PatientCalls.M1. A call resolves when its response has content; the attempts that failed before it give nothing (rule D4). After content there is no
 *     other call.
 * PatientCalls.M2. The error of a call that was given up is not retryable for the AI SDK: its `maxRetries` makes no further call.
 * PatientCalls.M3. A stream that ends without its `finish` part was cut, and has failed (rule C6).
 *
 * **Example** (Any model of the AI SDK, with hours of patience)
 *
 * ```ts
 * import { openai } from "@ai-sdk/openai"
 * import { holdfast } from "@holdfast/ai-sdk"
 * import { streamText, wrapLanguageModel } from "ai"
 *
 * const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: holdfast({ retry: "overnight" }) })
 * const { textStream } = streamText({ model, prompt: "How is it?" })
 * ```
 */
import {
  APICallError,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Middleware,
  type LanguageModelV4StreamPart,
  type LanguageModelV4StreamResult
} from "@ai-sdk/provider"
import { Patience, RetryStrategy } from "@holdfast/kernel"
import { Classification, Profile, type RetryPolicy, RetrySettings, RetryStrategies } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { Failure } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { HoldfastError, type RetryOptions } from "holdfast"

/** A wait that begins. */
export interface Retry {
  /** 0-based: the retry that is about to happen. */
  readonly attempt: number
  readonly retryAt: Date
  /** The endpoint's error, verbatim. */
  readonly message: string
  readonly reason: string
  /** The HTTP status or the provider's code, where it is known. */
  readonly code?: string
}

/** What the middleware is made from. */
export interface PatienceOptions {
  /** A profile, or settings over one. Default: `overnight`, which waits for hours. */
  readonly retry?: RetryOptions | "overnight" | "interactive" | "cycling"
  /** Gets each wait as it begins. What it throws is dropped. */
  readonly onRetry?: (retry: Retry) => void
}

/** Makes the middleware, for `wrapLanguageModel`. Throws a `HoldfastError` where an option is wrong. */
export const holdfast = ({ onRetry, retry }: PatienceOptions = {}): LanguageModelV4Middleware => {
  const setting: Setting = { policy: policyOf(retry), onRetry }
  return {
    specificationVersion: "v4",
    wrapGenerate: async ({ doGenerate, model, params }) => {
      const call = Stream.fromEffect(attempt(doGenerate))
      const results = run<LanguageModelV4GenerateResult>(setting, model, params.abortSignal, call, () => true)
      const { value } = await results.next()
      if (value === undefined) throw new HoldfastError("closed", "The call ended without a response.")
      await results.return?.(undefined)
      return value
    },
    wrapStream: async ({ doStream, model, params }) => {
      let answered: LanguageModelV4StreamResult | undefined
      const call = Stream.unwrap(
        Effect.map(attempt(doStream), (result) => {
          answered = result
          return partsOf(result.stream)
        })
      )
      const parts = run(setting, model, params.abortSignal, call, isContent)
      let first: IteratorResult<LanguageModelV4StreamPart, unknown> | undefined = await parts.next() // PatientCalls.M1
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        pull: async (controller) => {
          try {
            const next = first ?? (await parts.next())
            first = undefined
            if (next.done === true) controller.close()
            else controller.enqueue(next.value)
          } catch (error) {
            controller.error(error)
          }
        },
        cancel: async () => void (await parts.return?.(undefined))
      })
      return { ...answered, stream }
    }
  }
}

// --- internal

interface Setting {
  readonly policy: RetryPolicy.RetryPolicy
  readonly onRetry: PatienceOptions["onRetry"]
}

/** What an attempt failed with. */
class Thrown {
  readonly error: unknown
  readonly at: number
  constructor(error: unknown, at: number) {
    this.error = error
    this.at = at
  }
}

const policyOf = (retry: PatienceOptions["retry"]): RetryPolicy.RetryPolicy => {
  const settings = RetrySettings.decode(retry === undefined ? {} : typeof retry === "string" ? { profile: retry } : retry)
  if (Result.isFailure(settings))
    throw new HoldfastError("invalid-options", `retry: ${settings.failure.message}`, { cause: settings.failure })
  return Profile.resolve(settings.success)
}

const attempt = <A>(call: () => PromiseLike<A>): Effect.Effect<A, Thrown> =>
  Effect.flatMap(Clock.Clock, (clock) =>
    Effect.tryPromise({ try: async () => call(), catch: (error) => new Thrown(error, clock.currentTimeMillisUnsafe()) })
  )

/** The parts of a response. An `error` part fails the stream, and so does an end without `finish` (PatientCalls.M3). */
const partsOf = (
  stream: ReadableStream<LanguageModelV4StreamPart>
): Stream.Stream<LanguageModelV4StreamPart, Thrown> => {
  let isFinished = false
  const thrown = (error: unknown) => new Thrown(error, Date.now())
  return Stream.fromReadableStream({ evaluate: () => stream, onError: thrown }).pipe(
    Stream.mapEffect((part) => {
      isFinished ||= part.type === "finish"
      return part.type === "error" ? Effect.fail(thrown(part.error)) : Effect.succeed(part)
    }),
    Stream.concat(Stream.suspend(() => (isFinished ? Stream.empty : Stream.fail(thrown(cut())))))
  )
}

const cut = (): Error => Object.assign(new Error("The response ended before it was finished."), { code: "ECONNRESET" })

const isContent = (part: LanguageModelV4StreamPart): boolean => {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return part.delta !== ""
    case "custom":
    case "reasoning-file":
    case "tool-input-start":
    case "tool-call":
    case "tool-result":
    case "tool-approval-request":
    case "file":
    case "source":
      return true
    default:
      return false
  }
}

/** The elements of a call's response; `next` rejects with the error of a call that was given up. */
const run = <A>(
  { onRetry, policy }: Setting,
  model: { readonly provider: string; readonly modelId: string },
  signal: AbortSignal | undefined,
  call: Stream.Stream<A, Thrown>,
  isContent: (element: A) => boolean
): AsyncIterator<A> => {
  const elements = Patience.stream({
    target: { provider: model.provider, model: model.modelId },
    stream: () => call,
    isContent,
    failureOf: ({ at, error }) => new Failure.ProviderFailure({ failure: Classification.ofThrown(error, at) }),
    through: (provider) => Limits.withLimits(provider, policy.requestTimeout),
    emit: (event) => {
      if (event.type === "provider-retry") report(onRetry, event)
    },
    ...(signal === undefined ? undefined : { abort: aborted(signal) })
  })
  const iterator = Stream.toAsyncIterable(
    Stream.provideService(
      elements,
      RetryStrategy.RetryStrategy,
      RetryStrategies.make(policy, RetryStrategies.sleepInMemory)
    )
  )[Symbol.asyncIterator]()
  return {
    next: async () => {
      try {
        return await iterator.next()
      } catch (error) {
        throw thrownFor(error, signal)
      }
    },
    return: async (value) => (await iterator.return?.(value)) ?? { done: true, value }
  }
}

const report = (
  onRetry: PatienceOptions["onRetry"],
  event: Patience.PatienceEvent & { readonly type: "provider-retry" }
) => {
  const { attempt, code, message, reason, retryAt } = event
  try {
    onRetry?.({ attempt, message, reason, retryAt: new Date(retryAt), ...(code === undefined ? undefined : { code }) })
  } catch {
    // A listener does not decide about the call.
  }
}

const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const abort = () => resume(Effect.void)
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })

/** PatientCalls.M2: what the AI SDK takes for a reason to call again is marked as none. */
const thrownFor = (error: unknown, signal: AbortSignal | undefined): unknown => {
  if (!(error instanceof Patience.CallEnded)) return error
  if (error.status === "aborted") return signal?.reason ?? new DOMException(error.message, "AbortError")
  const cause: unknown = error.cause instanceof Thrown ? error.cause.error : undefined
  if (!APICallError.isInstance(cause)) return cause ?? error
  const { cause: inner, data, message, requestBodyValues, responseBody, responseHeaders, statusCode, url } = cause
  return new APICallError({
    message,
    url,
    requestBodyValues,
    isRetryable: false,
    cause: inner ?? cause,
    data,
    ...(statusCode === undefined ? undefined : { statusCode }),
    ...(responseHeaders === undefined ? undefined : { responseHeaders }),
    ...(responseBody === undefined ? undefined : { responseBody })
  })
}
