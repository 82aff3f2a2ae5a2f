/**
 * Gives single calls the patience of a policy: for the packages that add it to other frameworks.
 *
 * It joins the kernel's `Patience` with the policy's decisions and its limits on silence. A framework's package adds how its responses are read.
 */
import { Checkpoint, Patience, type Records, RetryStrategy, TurnParked, type TurnStopped } from "@holdfast/kernel"
import { Classification, type RetryPolicy, RetryStrategies } from "@holdfast/policy"
import { Failure, type Target } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import type { Thrown } from "./FromAsyncIterable.ts"
import * as Limits from "./limits/Limits.ts"

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
  park: Park
): Stream.Stream<A, Patience.CallEnded<Thrown> | TurnParked.TurnParked, R> =>
  calling(call, policy).pipe(
    Stream.provideService(RetryStrategy.RetryStrategy, RetryStrategies.make(policy, parkingSleep(park))),
    Stream.provideService(Checkpoint.Checkpoint, checkpointOf(park)),
    // Its records are in memory, so nothing stops it.
    Stream.catch((error) => (error._tag === "TurnStopped" ? Stream.die(error) : Stream.fail(error)))
  )

/** How a call parks: a wait longer than `afterMs` fails the stream, and the records hold all that the call needs to go on at that wait. */
export interface Park {
  /** The longest wait that stays in memory. */
  readonly afterMs: number
  /** The records of the call; those of earlier lives are in it before the call is made. */
  readonly records: Array<Records.Stored>
}

/** The strategy's sleep: it parks where the wait is longer than `afterMs`. */
const parkingSleep =
  ({ afterMs }: Park): RetryStrategies.Sleep =>
  (delay, awaited) => {
    const ms = Duration.toMillis(delay)
    if (ms <= afterMs) return RetryStrategies.sleepInMemory(delay, awaited)
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.fail(new TurnParked.TurnParked({ retryAt: awaited?.retryAt ?? now + ms }))
    )
  }

/** The checkpoint of a call over its records. */
const checkpointOf = ({ records }: Park): Checkpoint.Checkpoint["Service"] => {
  const known = records.slice()
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  return {
    known,
    mark: (name) => Effect.sync(() => void records.push({ name, value: "true" })),
    run: (name, schema, effect) => {
      const codec = Schema.fromJsonString(Schema.toCodecJson(schema))
      const value = recorded.get(name)
      if (value !== undefined) return Effect.orDie(Schema.decodeEffect(codec)(value))
      return Effect.tap(effect, (result) =>
        Effect.map(Effect.orDie(Schema.encodeEffect(codec)(result)), (value) => void records.push({ name, value }))
      )
    }
  }
}

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
