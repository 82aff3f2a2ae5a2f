/**
 * A line of the retry log (M4): what was told of an attempt or a decision, as one JSON object.
 *
 * Pure. Who redacts the line and where it goes is `RetryLog`'s.
 */
import type { Observer } from "@holdfast/kernel"
import { type Failure, type Message, Target } from "@holdfast/wire"

export type Type = "retry" | "retry_succeeded" | "retry_exhausted" | "manual_retry"

export interface RetryLine {
  readonly type: Type
  /** ISO 8601, in UTC. */
  readonly time: string
  readonly provider: string
  readonly model: string
  /** The wire format: `openai-compatible`, `anthropic`, `simulated`; absent for a provider that is not configured. */
  readonly api?: string
  /** Why the model stopped; `error` where it did not come to that. */
  readonly stopReason: Message.FinishReason | "error" | "aborted"
  readonly errorMessage?: string
  readonly reason?: Failure.Reason
  /** The HTTP status. */
  readonly status?: number
  readonly code?: string
  /** Why there is no further retry. */
  readonly because?: string
  /** The retry that is meant; 0-based within its step, as in `provider-retry`. */
  readonly attempt: number
  /** How long it is waited before that retry. */
  readonly delayMs?: number
  /** When it is due: ISO 8601. */
  readonly retryAt?: string
  /** Where that retry goes, as `provider/model`; absent: where the attempt went. */
  readonly to?: string
  /** The name of the credential that it goes with, where the router chose one. */
  readonly credential?: string
  /** 0-based. */
  readonly step: number
  /** The working directory of the service. */
  readonly cwd: string
  /** The conversation. */
  readonly sessionId: string
  readonly turnId: string
}

/** What lines say of the service. */
export interface Surroundings {
  readonly cwd: string
  readonly apiOf: (provider: string) => string | undefined
}

/** What an attempt is worth writing down for: that a retry succeeded, or that somebody asked for one. */
export const ofAttempt = (ended: Observer.AttemptEnded, surroundings: Surroundings): ReadonlyArray<RetryLine> => {
  const { isManualRetry, outcome, retry, startedAt } = ended
  const stopReason = stopReasonOf(outcome)
  return [
    ...(isManualRetry
      ? [lineOf("manual_retry", ended, startedAt ?? outcome.endedAt, surroundings, { attempt: 0, stopReason })]
      : []),
    ...(retry !== undefined && outcome._tag === "Completed"
      ? [lineOf("retry_succeeded", ended, outcome.endedAt, surroundings, { attempt: retry, stopReason })]
      : [])
  ]
}

/** A retry, or that there is none any more: the first failure of all, where it may not be retried, is no retry. */
export const ofDecision = (decided: Observer.Decided, surroundings: Surroundings): RetryLine | undefined => {
  const { at, directive, failure, retry } = decided
  const error = {
    stopReason: failure.reason === "aborted" ? ("aborted" as const) : ("error" as const),
    errorMessage: failure.message,
    reason: failure.reason,
    ...(failure.status === undefined ? undefined : { status: failure.status }),
    ...(failure.code === undefined ? undefined : { code: failure.code })
  }
  if (directive._tag === "Retry") {
    const { attempt, delayMs, retryAt, route } = directive
    const to = route && Target.format(route.target)
    return lineOf("retry", decided, at, surroundings, {
      ...error,
      attempt,
      delayMs,
      retryAt: new Date(retryAt).toISOString(),
      ...(to === undefined || to === Target.format(decided.target) ? undefined : { to }),
      ...(route?.credential === undefined ? undefined : { credential: route.credential })
    })
  }
  const { because } = directive
  return retry === undefined && because !== "exhausted"
    ? undefined
    : lineOf("retry_exhausted", decided, at, surroundings, { ...error, attempt: retry ?? 0, because })
}

// --- internal

const lineOf = (
  type: Type,
  { conversationId, step, target, turnId }: Observer.Place,
  at: number,
  { apiOf, cwd }: Surroundings,
  said: Pick<RetryLine, "attempt" | "stopReason"> & Partial<RetryLine>
): RetryLine => {
  const api = apiOf(target.provider)
  return {
    type,
    time: new Date(at).toISOString(),
    ...target,
    ...(api === undefined ? undefined : { api }),
    ...said,
    step,
    cwd,
    sessionId: conversationId,
    turnId
  }
}

const stopReasonOf = (outcome: Observer.AttemptEnded["outcome"]): RetryLine["stopReason"] => {
  switch (outcome._tag) {
    case "Completed":
      return outcome.finishReason
    case "Interrupted":
      return "aborted"
    case "Failed":
    case "Lost":
      return "error"
    default:
      return outcome satisfies never
  }
}
