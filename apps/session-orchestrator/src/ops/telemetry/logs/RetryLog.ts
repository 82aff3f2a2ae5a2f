/**
 * Writes the retry log (M4): a file with one redacted line of JSON per retry.
 *
 * A line is about an attempt, a decision, or the end of a turn that has met a failure (A16). No turn waits for the file (`LineFile`).
 * docs/telemetry.md has the lines. A field that is not known is absent.
 */
import type { Directive, Observer } from "@holdfast/kernel"
import { defined, Failure, Target } from "@holdfast/wire"
import { Effect, type FileSystem, type Path, type Schema, type Scope } from "effect"
import * as Prose from "../../../base/text/Prose.ts"
import * as LineFile from "./LineFile.ts"
import type { ProviderConfig } from "../../../config/Config.ts"

/** Facts about the service that lines have. */
export interface ServiceFacts {
  readonly cwd: string
  /** The wire format: a `type` of the configuration, such as `anthropic`. */
  readonly apiOf: (provider: string) => string | undefined
  /** The thinking level that the configuration sets for a model. */
  readonly thinkingOf: (target: Target.Target) => string | undefined
}

/** The lines about an attempt: a retry succeeded, or a person asked for a retry. */
export const ofAttempt = (ended: Observer.AttemptEnded, surroundings: ServiceFacts) => {
  const { isManualRetry, outcome, retry, startedAt } = ended
  const { endedAt } = outcome
  const line = (type: "manual_retry" | "retry_succeeded", at: number, attempt: number) => ({
    type,
    ...placeOf(ended, at, surroundings),
    stopReason: stopReasonOf(outcome),
    ...latencyOf(startedAt, endedAt),
    attempt
  })
  return [
    ...(isManualRetry ? [line("manual_retry", startedAt ?? endedAt, 0)] : []),
    ...(retry !== undefined && outcome._tag === "Completed" ? [line("retry_succeeded", endedAt, retry)] : [])
  ]
}

/**
 * The line about a decision: a retry, or no further retry. A first failure that is not retryable has no line.
 *
 * `attempt` is the number of the retry, 0-based within its step, as in `provider-retry`; `to` and `credential` are those of the retry, where
 * they differ from the attempt's.
 */
export const ofDecision = (decided: Observer.Decided, surroundings: ServiceFacts) => {
  const { at, directive, endedAt, failure, retry, startedAt, target } = decided
  const facts = {
    ...placeOf(decided, at, surroundings),
    ...wordsOf(directive, failure, target),
    stopReason: failure.reason === "aborted" ? "aborted" : "error",
    ...latencyOf(startedAt, endedAt),
    ...failureFields(failure)
  }
  if (directive._tag === "Retry") {
    const { attempt, delayMs, retryAt, route } = directive
    const to = route && Target.format(route.target)
    return {
      type: "retry",
      ...facts,
      attempt,
      delayMs,
      retryAt: new Date(retryAt).toISOString(),
      ...defined({ to: to === Target.format(target) ? undefined : to, credential: route?.credential })
    }
  }
  const { because } = directive
  return retry === undefined && because !== "exhausted"
    ? undefined
    : { type: "retry_exhausted", ...facts, attempt: retry ?? 0, because }
}

/** A decision about an attempt at `target` in the words of rule A1: its action, a sentence, and the sources of the error from general to exact. */
const wordsOf = (directive: Directive.Directive, failure: Failure.Failure, target: Target.Target) => {
  const from = Target.format(target)
  const code = Failure.codeOf(failure)
  const what = `${from} failed (${failure.reason}${code === undefined ? "" : `, ${code}`})`
  const sources = [
    from,
    failure.reason,
    ...(failure.status === undefined ? [] : [`HTTP ${failure.status}`]),
    ...(failure.code === undefined ? [] : [failure.code])
  ]
  if (directive._tag === "GiveUp")
    return { action: "abort", logMessage: `${what}: giving up, ${directive.because}`, sources }
  const { attempt, delayMs, resumes, route } = directive
  const to = route === undefined ? from : Target.format(route.target)
  const how = to !== from ? ` on ${to}` : route?.credential === undefined ? "" : " with another credential"
  const when =
    resumes === true
      ? "at the end of its wait, which the early attempt does not change,"
      : delayMs === 0
        ? "at once"
        : `after ${delayMs} ms`
  return {
    action: to === from ? "retry" : "skip-provider",
    logMessage: `${what}: retry ${attempt + 1} ${when}${how}`,
    sources
  }
}

/** The line about the end of a turn; `undefined` if the turn met no failure. */
export const ofSeal = (sealed: Observer.Sealed, surroundings: ServiceFacts) => {
  const { end, retryLoopMs } = sealed
  if (retryLoopMs === 0 && end.status !== "failed") return undefined
  return {
    type: "turn_ended",
    ...placeOf(sealed, end.endedAt, surroundings),
    finalStatus: end.status,
    totalAttempts: end.attempts,
    retryLoopDurationMs: retryLoopMs,
    ...defined({ waitedMs: end.waitedMs }),
    ...(end.error && failureFields(end.error))
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
    const put = (line: object | undefined) => {
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

/** The fields of every line: where it happened, and to what. */
const placeOf = (
  { conversationId, step, target, turnId }: Observer.ObservedStep,
  at: number,
  { apiOf, cwd, thinkingOf }: ServiceFacts
) => ({
  time: new Date(at).toISOString(),
  ...target,
  ...defined({ api: apiOf(target.provider), thinkingLevel: thinkingOf(target) }),
  step,
  cwd,
  sessionId: conversationId,
  turnId
})

const failureFields = ({ code, message, reason, status }: Failure.Failure) => ({
  errorMessage: message,
  reason,
  ...defined({ status, code })
})

const latencyOf = (startedAt: number | undefined, endedAt: number) =>
  startedAt === undefined ? {} : { latencyMs: Math.max(0, endedAt - startedAt) }

/** Why the model stopped. */
const stopReasonOf = (outcome: Observer.AttemptEnded["outcome"]) => {
  if (outcome._tag === "Completed") return outcome.finishReason
  return outcome._tag === "Interrupted" ? "aborted" : "error"
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
