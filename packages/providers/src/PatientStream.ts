/**
 * Gives single calls the patience of a policy: for the packages that add it to other frameworks.
 *
 * It joins the kernel's `Patience` with the policy's decisions and its limits on silence. A framework's package adds how its responses are read.
 */
import { Checkpoint, Patience, RetryStrategy, type TurnParked, type TurnStopped } from "@holdfast/kernel"
import { Classification, type RetryPolicy, RetryStrategies } from "@holdfast/policy"
import { Failure, type Target } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Thrown } from "./FromAsyncIterable.ts"
import * as Limits from "./limits/Limits.ts"
import * as ParkedCall from "./ParkedCall.ts"

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

/** A call, and how its response is read. */
export interface Call<A, R> {
  /** What is called, in records and events. */
  readonly target: Target.Target
  /** Makes one attempt. Interruption must close the connection. */
  readonly stream: Stream.Stream<A, Thrown, R>
  /** Whether an element is content: from the first one on nothing is retried (rule D4). */
  readonly isContent: (element: A) => boolean
  /** Gets each wait as it begins. What it throws is dropped. */
  readonly onRetry?: ((retry: Retry) => void) | undefined
  /** Ends the call, or the wait for the next one. */
  readonly signal?: AbortSignal | undefined
}

/** The elements of the response, after as many attempts as the policy allows. */
export const make = <A, R>(
  policy: RetryPolicy.RetryPolicy,
  call: Call<A, R>
): Stream.Stream<A, Patience.CallEnded<Thrown>, R> =>
  calling(call, policy).pipe(
    Stream.provideService(RetryStrategy.RetryStrategy, RetryStrategies.make(policy, RetryStrategies.sleepInMemory)),
    // Without a checkpoint of its own a call is neither parked nor stopped.
    Stream.catch((error) => (error instanceof Patience.CallEnded ? Stream.fail(error) : Stream.die(error)))
  )

/** The same for a call that leaves memory to wait: it fails with `TurnParked` then. */
export const parking = <A, R>(
  policy: RetryPolicy.RetryPolicy,
  call: Call<A, R>,
  park: ParkedCall.Park
): Stream.Stream<A, Patience.CallEnded<Thrown> | TurnParked.TurnParked, R> =>
  calling(call, policy).pipe(
    Stream.provideService(RetryStrategy.RetryStrategy, RetryStrategies.make(policy, ParkedCall.sleep(park))),
    Stream.provideService(Checkpoint.Checkpoint, ParkedCall.checkpoint(park)),
    // Its records are in memory, so nothing stops it.
    Stream.catch((error) => (error._tag === "TurnStopped" ? Stream.die(error) : Stream.fail(error)))
  )

// --- internal

const calling = <A, R>(
  { isContent, onRetry, signal, stream, target }: Call<A, R>,
  policy: RetryPolicy.RetryPolicy
): Stream.Stream<A, Patience.CallEnded<Thrown> | TurnParked.TurnParked | TurnStopped.TurnStopped, R> =>
  Patience.stream({
    target,
    stream: () => stream,
    isContent,
    failureOf: ({ at, error }: Thrown) => new Failure.ProviderFailure({ failure: Classification.ofThrown(error, at) }),
    through: (provider) => Limits.withLimits(provider, policy.requestTimeout),
    emit: (event) => {
      if (event.type === "provider-retry" && onRetry !== undefined) report(onRetry, event)
    },
    ...(signal === undefined ? undefined : { abort: aborted(signal) })
  })

const report = (
  onRetry: (retry: Retry) => void,
  { attempt, code, message, reason, retryAt }: Patience.PatienceEvent & { readonly type: "provider-retry" }
): void => {
  try {
    onRetry({ attempt, message, reason, retryAt: new Date(retryAt), ...(code === undefined ? undefined : { code }) })
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
