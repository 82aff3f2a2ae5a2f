/** Turns the cause of a broken provider call into a failure. Pure; also for hosts that call providers themselves. */
import type { Failure } from "@holdfast/wire"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import type { EmittedFailure } from "../ports/Provider.ts"
import { describe, type TurnStopped } from "../ports/TurnStopped.ts"

/** A failure, and the whole body of the response where that holds more. */
export interface Broken {
  readonly failure: Failure.Failure
  readonly body?: string
}

/**
 * Returns the failure in a cause: emitted, thrown, a bug (C10), or an abort that the user did not request (M3). With the body of the response,
 * where there is one.
 */
export const brokenOf = <Stop extends TurnStopped = never>(
  cause: Cause.Cause<Failure.ProviderFailure | Stop>
): Broken | Stop => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return { failure: withoutError(cause) }
  const { value } = error
  return value._tag === "TurnStopped" ? value : withBody(value.failure, value.body)
}

/** C6: the failure of a stream that ended without `finish`. */
export const incomplete: Failure.Failure = {
  reason: "network",
  message: "The response ended before it was complete.",
  retryable: true
}

/** Returns the failure of an `error` event. Without `retryable` it is final (D3). */
export const emitted = (failure: EmittedFailure): Failure.Failure => ({
  ...failure,
  retryable: failure.retryable ?? false
})

/** Adds the body to a failure, where there is one. */
export const withBody = (failure: Failure.Failure, body: string | undefined): Broken =>
  body === undefined ? { failure } : { failure, body }

/** Describes why an effect of a host ended without a result, in words. */
export const whyOf = (cause: Cause.Cause<unknown>): string =>
  Cause.hasInterruptsOnly(cause) ? "it was interrupted." : String(Cause.squash(cause))

// --- internal

/** The failure of a call that ended without an error: by a bug (C10), or by an interruption from outside (M3). */
const withoutError = (cause: Cause.Cause<unknown>): Failure.Failure =>
  Cause.hasInterruptsOnly(cause)
    ? abortedElsewhere
    : { reason: "unknown", message: describe(Cause.squash(cause)), retryable: true, defect: true }

/** M3: the user did not request it. */
const abortedElsewhere: Failure.Failure = {
  reason: "aborted",
  message: "The request was aborted, and not by the user.",
  retryable: true
}
