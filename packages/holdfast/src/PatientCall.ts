/**
 * Gives single calls the patience of a turn, for loops that others own: agent frameworks, gateways, scripts.
 *
 * Elements before the first content are held back, and those of an attempt that fails are dropped: nothing comes twice (rule D4). After
 * content nothing is called again; the error comes behind the elements. The consumer gets the error of the last attempt as it was
 * thrown. With `park` a call that was made again makes the attempts that are left of its policy, at their times.
 */
import { Patience, TurnParked } from "@holdfast/kernel"
import { FromAsyncIterable, PatientStream } from "@holdfast/providers"
import * as Stream from "effect/Stream"
import { CallParked, type ParkOptions, parking } from "./CallParked.ts"
import type { Target } from "./Events.ts"
import { invalid } from "./HoldfastError.ts"
import { policyOf, type RetryChoice } from "./RetryChoice.ts"

/** A wait that begins. */
export interface Retry extends PatientStream.Retry {}

/** What the patience of calls is made from; the same in every package for another framework. */
export interface PatienceOptions {
  /** A profile, or settings over one. Default: `overnight`, which waits for hours. */
  readonly retry?: RetryChoice
  /** Gets each wait as it begins. What it throws is dropped. */
  readonly onRetry?: (retry: Retry) => void
  /** Ends every call and every wait. */
  readonly signal?: AbortSignal
  /** For hosts where nothing may stay in memory: a long wait ends the call with a `CallParked`, and the same call made again goes on. */
  readonly park?: ParkOptions
}

/** One call, and how its response is read. */
export interface PatientCall<A> {
  /** Names the call, at most 200 characters: with `park`, a call of this id goes on where the last one parked. */
  readonly id?: string
  /** Makes one attempt: the retries of an SDK underneath must be off (rule C9). `signal` aborts when the attempt is over, however it ended. */
  readonly call: (signal: AbortSignal) => AsyncIterable<A>
  /** Whether an element is content, which a person may see. */
  readonly isContent: (element: A) => boolean
  /** Ends this call. */
  readonly signal?: AbortSignal | undefined
  /** The provider and the model that are called. */
  readonly target?: Target
}

/** Makes calls, each with the patience of one policy. */
export type Patient = <A>(call: PatientCall<A>) => AsyncGenerator<A, void, undefined>

/**
 * Reads the options once, for any number of calls. Throws a `HoldfastError` that names what is wrong.
 *
 * **Example** (A stream of an SDK, with hours of patience)
 *
 * ```ts
 * import { patience } from "holdfast"
 *
 * const patient = patience({ retry: "overnight" })
 * const chunks = patient({
 *   call: (signal) => stream(prompt, { signal }),
 *   isContent: ({ text }) => text !== ""
 * })
 * for await (const { text } of chunks) process.stdout.write(text)
 * ```
 */
export const patience = ({ onRetry, park, retry, signal: shared }: PatienceOptions = {}): Patient => {
  const policy = policyOf(retry)
  const open = park === undefined ? undefined : parking(park)
  return async function* ({ call, id, isContent, signal: own, target = TARGET }) {
    const signal = either(shared, own)
    const patient = { target, stream: FromAsyncIterable.elementsOf(call), isContent, onRetry, signal }
    if (open === undefined) {
      try {
        return yield* Stream.toAsyncIterable(PatientStream.make(policy, patient))
      } catch (error) {
        throw thrownFor(error, signal)
      }
    }
    const named = idOf(id)
    const parking = await open(named)
    try {
      for await (const element of Stream.toAsyncIterable(PatientStream.parking(policy, patient, parking))) {
        await parking.over() // it has content
        yield element
      }
      await parking.over()
    } catch (error) {
      if (!isParked(error)) {
        await parking.over()
        throw thrownFor(error, signal)
      }
      await parking.parked()
      throw new CallParked(named, new Date(error.retryAt))
    }
  }
}

/** The error for a response that ended without its last element (rule C6): a call throws it, and is retried as after a lost connection. */
export const cut = (): Error =>
  Object.assign(new Error("The response ended before it was finished."), { code: "ECONNRESET" })

// --- internal

const isParked = (error: unknown): error is TurnParked.TurnParked => error instanceof TurnParked.TurnParked

const idOf = (id: string | undefined): string => {
  if (id === undefined || id === "" || id.length > 200)
    throw invalid("id: with park a call needs an id of 1 to 200 characters, to be found again.")
  return id
}

const TARGET: Target = { provider: "default", model: "model" }

const either = (a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined =>
  a === undefined || b === undefined ? (a ?? b) : AbortSignal.any([a, b])

const thrownFor = (error: unknown, signal: AbortSignal | undefined): unknown => {
  if (!(error instanceof Patience.CallEnded)) return error
  if (error.status === "aborted") return signal?.reason ?? new DOMException(error.message, "AbortError")
  const { cause, failure } = error
  if (cause instanceof FromAsyncIterable.Thrown) return cause.error
  return new DOMException(failure.message, failure.reason === "timeout" ? "TimeoutError" : "OperationError")
}
