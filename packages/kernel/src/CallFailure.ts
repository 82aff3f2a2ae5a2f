/** What a call of a provider has failed with that did not come to its end, for those who call providers themselves. Pure. */
import type { Failure } from "@holdfast/wire"
import { Cause, Option } from "effect"
import type { TurnStopped } from "./TurnStopped.ts"

/** The failure in a cause: emitted, thrown, a bug (C10), or an abort that the user did not ask for (M3). */
export const failureOf = (cause: Cause.Cause<Failure.ProviderFailure | TurnStopped>): Failure.Failure | TurnStopped => {
  const broken = brokenOf(cause)
  return "_tag" in broken ? broken : broken.failure
}

/** A failure, and the whole of what the endpoint answered where that holds more. */
export interface Broken {
  readonly failure: Failure.Failure
  readonly body?: string
}

/** The same with the body. */
export const brokenOf = (cause: Cause.Cause<Failure.ProviderFailure | TurnStopped>): Broken | TurnStopped => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) {
    return { failure: Cause.hasInterruptsOnly(cause) ? abortedElsewhere : ofDefect(Cause.squash(cause)) }
  }
  const { value } = error
  return value._tag === "TurnStopped" ? value : withBody(value.failure, value.body)
}

/** C6: what a stream has failed with that just stopped. */
export const incomplete: Failure.Failure = {
  reason: "network",
  message: "The response ended before it was complete.",
  retryable: true
}

/** A failure with its body, where there is one. */
export const withBody = (failure: Failure.Failure, body: string | undefined): Broken =>
  body === undefined ? { failure } : { failure, body }

/** C10 */
export const ofDefect = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect),
  retryable: true,
  defect: true
})

// --- internal

/** M3: nobody here asked for it. */
const abortedElsewhere: Failure.Failure = {
  reason: "aborted",
  message: "The request was aborted, and not by the user.",
  retryable: true
}
