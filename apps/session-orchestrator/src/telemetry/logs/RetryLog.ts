/**
 * Writes the retry log (M4): a file with one redacted line of JSON per retry.
 *
 * A line is about an attempt, a decision, or the end of a turn that has met a failure (A16). No turn waits for the file (`LineFile`).
 */
import type { Observer } from "@holdfast/kernel"
import { Report } from "@holdfast/policy"
import { defined, type Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Effect, type FileSystem, type Path, type Schema, type Scope } from "effect"
import * as Prose from "../../text/Prose.ts"
import * as LineFile from "./LineFile.ts"
import type { ProviderConfig } from "../../config/Config.ts"

/** The kind of a line about a retry. */
type Type = "retry" | "retry_succeeded" | "retry_exhausted" | "manual_retry"

/** The fields of every line. */
interface Line {
  /** ISO 8601, in UTC. */
  readonly time: string
  readonly provider: string
  readonly model: string
  /** The wire format: a `type` of the configuration, such as `anthropic`; absent for a provider that is not configured. */
  readonly api?: string
  /** The thinking level that the configuration sets for the model; absent if it sets none. */
  readonly thinkingLevel?: string
  /** 0-based. */
  readonly step: number
  /** The working directory of the service. */
  readonly cwd: string
  /** The id of the conversation. */
  readonly sessionId: string
  readonly turnId: string
}

/** The failure; its fields are absent if there was none. */
interface FailureFields {
  readonly errorMessage?: string
  readonly reason?: Failure.Reason
  /** The HTTP status. */
  readonly status?: number
  readonly code?: string
}

/** A line about an attempt or a decision. */
export interface RetryLine extends Line, FailureFields {
  readonly type: Type
  /** Why the model stopped; `error` if the attempt failed. */
  readonly stopReason: Message.FinishReason | "error" | "aborted"
  /** How long that attempt took, in milliseconds; absent if its beginning is unknown. */
  readonly latencyMs?: number
  /** Why there is no further retry. */
  readonly because?: string
  /** The decision: the same target again, another target, or no further attempt (A1); absent in a line about an attempt. */
  readonly action?: Report.Report["action"]
  /** The decision in words, on one line. */
  readonly logMessage?: string
  /** The sources of the error, from the nearest to the most exact. */
  readonly sources?: ReadonlyArray<string>
  /** The number of the retry, 0-based within its step, as in `provider-retry`. */
  readonly attempt: number
  /** The wait before that retry, in milliseconds. */
  readonly delayMs?: number
  /** When that retry is due: ISO 8601. */
  readonly retryAt?: string
  /** The target of that retry, as `provider/model`; absent: the target of the attempt. */
  readonly to?: string
  /** The name of the retry's credential, if the router chose one. */
  readonly credential?: string
}

/** A line about the end of a turn that has met a failure. */
export interface TurnLine extends Line, FailureFields {
  readonly type: "turn_ended"
  readonly finalStatus: TurnEvent.TurnStatus
  readonly totalAttempts: number
  /** Milliseconds from a step's first failure to its response or its end, over all steps. */
  readonly retryLoopDurationMs: number
  /** The actual time of waits in it, in milliseconds. */
  readonly waitedMs?: number
}

/** Facts about the service that lines have. */
export interface ServiceFacts {
  readonly cwd: string
  readonly apiOf: (provider: string) => string | undefined
  readonly thinkingOf: (target: Target.Target) => string | undefined
}

/** The lines about an attempt: a retry succeeded, or a person asked for a retry. */
export const ofAttempt = (ended: Observer.AttemptEnded, surroundings: ServiceFacts): ReadonlyArray<RetryLine> => {
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

/** The line about a decision: a retry, or no further retry. A first failure that is not retryable has no line. */
export const ofDecision = (decided: Observer.Decided, surroundings: ServiceFacts): RetryLine | undefined => {
  const { at, directive, endedAt, failure, retry, startedAt } = decided
  const { action, logMessage, sources } = Report.describe(directive, failure, { target: decided.target })
  const error = {
    action,
    logMessage,
    sources,
    stopReason: failure.reason === "aborted" ? ("aborted" as const) : ("error" as const),
    ...latencyOf(startedAt, endedAt),
    ...failureFields(failure)
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
      ...defined({ credential: route?.credential })
    })
  }
  const { because } = directive
  return retry === undefined && because !== "exhausted"
    ? undefined
    : lineOf("retry_exhausted", decided, at, surroundings, { ...error, attempt: retry ?? 0, because })
}

/** The line about the end of a turn; `undefined` if the turn met no failure. */
export const ofSeal = (sealed: Observer.Sealed, surroundings: ServiceFacts): TurnLine | undefined => {
  const { end, retryLoopMs } = sealed
  if (retryLoopMs === 0 && end.status !== "failed") return undefined
  return {
    type: "turn_ended",
    ...stepFieldsOf(sealed, end.endedAt, surroundings),
    finalStatus: end.status,
    totalAttempts: end.attempts,
    retryLoopDurationMs: retryLoopMs,
    ...defined({ waitedMs: end.waitedMs }),
    ...(end.error === undefined ? undefined : failureFields(end.error))
  }
}

/** The file and its limits. */
interface Options extends LineFile.Options {
  readonly surroundings: ServiceFacts
  readonly redact: (text: string) => string
}

/** Starts the log and returns the listeners of turns. */
export const make = ({
  redact,
  surroundings,
  ...file
}: Options): Effect.Effect<Observer.Listeners, never, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
  Effect.map(LineFile.make(file), (write) => {
    const put = (line: RetryLine | TurnLine | undefined) => {
      if (line !== undefined) write(Prose.inJson(redact(JSON.stringify(line))))
    }
    return {
      attempt: (ended) => ofAttempt(ended, surroundings).forEach(put),
      decision: (decided) => put(ofDecision(decided, surroundings)),
      seal: (sealed) => put(ofSeal(sealed, surroundings))
    }
  })

type Body = Readonly<Record<string, Schema.Json>>

/**
 * The thinking level of a model's requests, of the operator's body fields; `undefined` if none is set.
 *
 * Providers have different names for it: `reasoning_effort` (chat completions), `reasoning.effort` (Responses, OpenRouter),
 * `output_config.effort` and `thinking` (Anthropic), `generationConfig.thinkingConfig` (Gemini). A budget of tokens becomes `4096 tokens`.
 */
export const thinkingLevelOf = (provider: ProviderConfig | undefined, model: string): string | undefined => {
  if (provider === undefined || provider.type === "simulated" || provider.request === undefined) return undefined
  const { body, modelBody } = provider.request
  const own = modelBody.get(model)
  for (const level of LEVELS) {
    const set = level(own ?? {})
    if (set === null) continue // the model's fields remove the provider's
    const found = set ?? level(body ?? {})
    if (typeof found === "string") return found
  }
  return undefined
}

// --- internal

const lineOf = (
  type: Type,
  place: Observer.ObservedStep,
  at: number,
  surroundings: ServiceFacts,
  said: Omit<RetryLine, keyof Line | "type">
): RetryLine => ({ type, ...stepFieldsOf(place, at, surroundings), ...said })

const stepFieldsOf = (
  { conversationId, step, target, turnId }: Observer.ObservedStep,
  at: number,
  { apiOf, cwd, thinkingOf }: ServiceFacts
): Line => {
  const api = apiOf(target.provider)
  const thinkingLevel = thinkingOf(target)
  return {
    time: new Date(at).toISOString(),
    ...target,
    ...defined({ api, thinkingLevel }),
    step,
    cwd,
    sessionId: conversationId,
    turnId
  }
}

const failureFields = ({ code, message, reason, status }: Failure.Failure): FailureFields => ({
  errorMessage: message,
  reason,
  ...defined({ status, code })
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

/** Reads one provider's field. `null`: the operator removes the field. */
type Level = (body: Body) => string | null | undefined

const LEVELS: ReadonlyArray<Level> = [
  (body) => effort(body["reasoning_effort"]),
  (body) => inside(body["reasoning"], ({ effort: level }) => effort(level)),
  (body) => inside(body["output_config"], ({ effort: level }) => effort(level)),
  (body) =>
    inside(body["thinking"], ({ budget_tokens: tokens, type }) =>
      typeof tokens === "number" ? `${tokens} tokens` : effort(type)
    ),
  (body) =>
    inside(body["generationConfig"], ({ thinkingConfig }) =>
      inside(thinkingConfig, ({ thinkingBudget: tokens, thinkingLevel }) =>
        typeof tokens === "number" ? `${tokens} tokens` : effort(thinkingLevel)
      )
    )
]

const effort = (value: Schema.Json | undefined): string | null | undefined =>
  value === null || typeof value === "string" ? value : undefined

const inside = (value: Schema.Json | undefined, level: Level): string | null | undefined => {
  if (value === null) return null
  return typeof value === "object" && !Array.isArray(value) ? level(value as Body) : undefined
}
