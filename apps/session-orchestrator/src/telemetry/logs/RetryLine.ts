/**
 * A line of the retry log (M4): what was told of an attempt or a decision, or of a turn that has met a failure (A16), as one
 * JSON object.
 *
 * Pure. Who redacts the line and where it goes is `RetryLog`'s.
 */
import type { Observer } from "@holdfast/kernel"
import { Report } from "@holdfast/policy"
import { type Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"

export type Type = "retry" | "retry_succeeded" | "retry_exhausted" | "manual_retry"

/** What each line says of its place. */
interface Line {
  /** ISO 8601, in UTC. */
  readonly time: string
  readonly provider: string
  readonly model: string
  /** The wire format: `openai-compatible`, `anthropic`, `simulated`; absent for a provider that is not configured. */
  readonly api?: string
  /** How much the model was asked to think, as the configuration sets it; absent where it sets nothing. */
  readonly thinkingLevel?: string
  /** 0-based. */
  readonly step: number
  /** The working directory of the service. */
  readonly cwd: string
  /** The conversation. */
  readonly sessionId: string
  readonly turnId: string
}

/** What went wrong; absent when nothing did. */
interface Trouble {
  readonly errorMessage?: string
  readonly reason?: Failure.Reason
  /** The HTTP status. */
  readonly status?: number
  readonly code?: string
}

export interface RetryLine extends Line, Trouble {
  readonly type: Type
  /** Why the model stopped; `error` where it did not come to that. */
  readonly stopReason: Message.FinishReason | "error" | "aborted"
  /** How long the attempt took that ended so; absent where its beginning is not known. */
  readonly latencyMs?: number
  /** Why there is no further retry. */
  readonly because?: string
  /** What was decided: the same target again, another one, or no further attempt (A1); absent where nothing was decided. */
  readonly action?: Report.Report["action"]
  /** That in words, in one line. */
  readonly logMessage?: string
  /** Where the error came from, from the nearest to the most exact. */
  readonly sources?: ReadonlyArray<string>
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
}

/** The end of a turn that has met a failure. */
export interface TurnLine extends Line, Trouble {
  readonly type: "turn_ended"
  readonly finalStatus: TurnEvent.TurnStatus
  readonly totalAttempts: number
  /** From a step's first failure to its response or its end, over all steps. */
  readonly retryLoopDurationMs: number
  /** How much of that were waits, as long as they really took. */
  readonly waitedMs?: number
}

/** What lines say of the service. */
export interface Surroundings {
  readonly cwd: string
  readonly apiOf: (provider: string) => string | undefined
  readonly thinkingOf: (target: Target.Target) => string | undefined
}

/** What an attempt is worth writing down for: that a retry succeeded, or that somebody asked for one. */
export const ofAttempt = (ended: Observer.AttemptEnded, surroundings: Surroundings): ReadonlyArray<RetryLine> => {
  const { isManualRetry, outcome, retry, startedAt } = ended
  const said = { stopReason: stopReasonOf(outcome), ...latencyOf(startedAt, outcome.endedAt) }
  return [
    ...(isManualRetry
      ? [lineOf("manual_retry", ended, startedAt ?? outcome.endedAt, surroundings, { ...said, attempt: 0 })]
      : []),
    ...(retry !== undefined && outcome._tag === "Completed"
      ? [lineOf("retry_succeeded", ended, outcome.endedAt, surroundings, { ...said, attempt: retry })]
      : [])
  ]
}

/** A retry, or that there is none any more: the first failure of all, where it may not be retried, is no retry. */
export const ofDecision = (decided: Observer.Decided, surroundings: Surroundings): RetryLine | undefined => {
  const { at, directive, endedAt, failure, retry, startedAt } = decided
  const { action, logMessage, sources } = Report.describe(directive, failure, { target: decided.target })
  const error = {
    action,
    logMessage,
    sources,
    stopReason: failure.reason === "aborted" ? ("aborted" as const) : ("error" as const),
    ...latencyOf(startedAt, endedAt),
    ...troubleOf(failure)
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

/** The end of a turn, if it has met a failure. */
export const ofSeal = (sealed: Observer.Sealed, surroundings: Surroundings): TurnLine | undefined => {
  const { end, retryLoopMs } = sealed
  if (retryLoopMs === 0 && end.status !== "failed") return undefined
  return {
    type: "turn_ended",
    ...placeOf(sealed, end.endedAt, surroundings),
    finalStatus: end.status,
    totalAttempts: end.attempts,
    retryLoopDurationMs: retryLoopMs,
    ...(end.waitedMs === undefined ? undefined : { waitedMs: end.waitedMs }),
    ...(end.error === undefined ? undefined : troubleOf(end.error))
  }
}

// --- internal

const lineOf = (
  type: Type,
  place: Observer.Place,
  at: number,
  surroundings: Surroundings,
  said: Omit<RetryLine, keyof Line | "type">
): RetryLine => ({ type, ...placeOf(place, at, surroundings), ...said })

const placeOf = (
  { conversationId, step, target, turnId }: Observer.Place,
  at: number,
  { apiOf, cwd, thinkingOf }: Surroundings
): Line => {
  const api = apiOf(target.provider)
  const thinkingLevel = thinkingOf(target)
  return {
    time: new Date(at).toISOString(),
    ...target,
    ...(api === undefined ? undefined : { api }),
    ...(thinkingLevel === undefined ? undefined : { thinkingLevel }),
    step,
    cwd,
    sessionId: conversationId,
    turnId
  }
}

const troubleOf = ({ code, message, reason, status }: Failure.Failure): Trouble => ({
  errorMessage: message,
  reason,
  ...(status === undefined ? undefined : { status }),
  ...(code === undefined ? undefined : { code })
})

const latencyOf = (startedAt: number | undefined, endedAt: number): { readonly latencyMs?: number } =>
  startedAt === undefined ? {} : { latencyMs: Math.max(0, endedAt - startedAt) }

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
