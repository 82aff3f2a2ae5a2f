/**
 * Counts attempts, retries, tokens, tool calls and seals of turns for Prometheus.
 *
 * Every metric is defined here with its name, labels and description; tests check docs/telemetry.md and the dashboard against these. A
 * label has few values (`Labels`). Nothing is counted per token. Counters begin at 0 with the process: Prometheus keeps the counts of
 * earlier processes.
 *
 * A series exists before its first increment, because Prometheus's `increase` misses the increment that creates a series: series of fixed
 * labels and of configured targets exist from the start; those of another target from the first observation of it.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Directive, FinalReport, Records, Observer } from "@holdfast/kernel"
import { Failure, type Message, Target, TurnEvent } from "@holdfast/wire"
import { type Context, Metric } from "effect"
import * as MetricLabels from "./MetricLabels.ts"
import * as Series from "./Series.ts"

/** 10 ms to 20 minutes: from a local model's first word to the longest request that providers allow. */
const SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_200]

/** Up to 8 hours, which an overnight turn may wait, and beyond. */
const HOURS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600]

const counter = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

/** Calls of providers that have ended. */
export const attempts = counter(
  "holdfast_attempts_total",
  "Calls of a provider that have ended, by provider, model and status: completed, interrupted, lost, or the reason of the failure; shared are no calls, but retries that took another turn's fresh failure for their own."
)
const attemptSeconds = Metric.histogram("holdfast_attempt_duration_seconds", {
  description: "How long calls of a provider took, to the end of the answer or to the failure.",
  boundaries: SECONDS
})
const firstContentSeconds = Metric.histogram("holdfast_attempt_first_content_seconds", {
  description: "How long it took until a call's first content, of calls that had any.",
  boundaries: SECONDS
})
/** Decisions to retry. */
export const retries = counter(
  "holdfast_retries_total",
  "Retries that were decided on, by provider, model and reason of the failure."
)
const backoffSeconds = counter(
  "holdfast_backoff_seconds_total",
  "Waiting that was decided on, by provider, model and reason of the failure."
)
/** Decisions not to retry. */
export const refusals = counter(
  "holdfast_refusals_total",
  "Failures that were not retried, by why: after-content, not-retryable, context-overflow, defect, no-strategy, exhausted."
)
const waitsEnded = counter(
  "holdfast_waits_ended_total",
  "Waits that ended or were changed, by what did it: elapsed, early (the gate let the retry in before its time), now, cancelled, until, switched, extended, asked (a person is to say)."
)
/** Uses of fallback targets. */
export const fallbacks = counter(
  "holdfast_fallbacks_total",
  "Targets of fallback chains that took over, by provider, model and outcome: applied, answered (the first time)."
)
const targetChanges = counter(
  "holdfast_target_changes_total",
  "Turns that went on at another target, by its provider and model: by a fallback, back again, or by a command."
)
const syntheticRetries = counter(
  "holdfast_synthetic_retries_total",
  "Whole responses that would not do and were asked for again, by provider and model."
)
/** Final reports that were handed in. */
export const reports = counter(
  "holdfast_final_reports_total",
  "Final reports that were handed in, by provider, model and outcome: accepted, malformed (could not be read), incomplete (the response ended before it), invalid (does not fit its schema)."
)
const finalSteps = counter(
  "holdfast_final_steps_total",
  "Steps that were made the last of their turn, by why: max-turns, context, malformed-report, retries-exhausted."
)
/** Compactions of contexts. */
export const compactions = counter(
  "holdfast_compactions_total",
  "Contexts that were too long, by what came of making them smaller: compacted, nothing (it could not be), failed."
)
const stepsDiscarded = counter(
  "holdfast_steps_discarded_total",
  "Steps of which clients were told that what they had been shown is void."
)
/** Sealed turns. */
export const turns = counter("holdfast_turns_sealed_total", "Turns that have ended, by status.")
const turnAttempts = Metric.histogram("holdfast_turn_attempts", {
  description: "Attempts of a turn, by the turn's status.",
  boundaries: [1, 2, 3, 5, 10, 20, 30, 50, 100]
})
const retryLoopSeconds = Metric.histogram("holdfast_turn_retry_loop_seconds", {
  description: "From a step's first failure to its response or the turn's end, of turns that met a failure, by status.",
  boundaries: HOURS
})
const waitedSeconds = Metric.histogram("holdfast_turn_waited_seconds", {
  description: "How long the waits before retries really took, of turns that waited, by the turn's status.",
  boundaries: HOURS
})
/** Tokens that providers have counted. */
export const tokens = counter(
  "holdfast_tokens_total",
  "Tokens that providers have counted, by provider, model and direction: input, output."
)
/** Tool calls. */
export const toolCalls = counter("holdfast_tool_calls_total", "Tool calls, by tool and outcome: ok, error, malformed.")
const toolSeconds = Metric.histogram("holdfast_tool_duration_seconds", {
  description: "How long tool calls took, by tool.",
  boundaries: SECONDS
})

/** The listeners that count, on the registry of a context. */
export const observer = (known: MetricLabels.Known, context: Context.Context<never>): Observer.Listeners => {
  const count = Series.counting(context)

  const open = Series.opening(context)
  open(OF_TURNS, {})
  const labelsOf = MetricLabels.ofTargets(known, OF_TARGETS, open)
  const at = ({ target }: Pick<Observer.ObservedStep, "target">) => labelsOf(target)

  /** The labels of an event that names its target `provider/model`. */
  const named = (name: string) => {
    const target = Target.parse(name)
    return target === undefined ? { provider: MetricLabels.OTHER, model: MetricLabels.OTHER } : labelsOf(target)
  }

  const spent = countingTokens(count)

  const ofEvents = Observer.on({
    "retry-fallback-applied": ({ to }) => count(fallbacks, 1, { ...named(to), outcome: "applied" }),
    "retry-fallback-succeeded": ({ model }) => count(fallbacks, 1, { ...named(model), outcome: "answered" }),
    "model-change": ({ to }) => count(targetChanges, 1, named(to)),
    "synthetic-retry": (_, place) => count(syntheticRetries, 1, at(place)),
    "final-turn": ({ cause }) => count(finalSteps, 1, { cause }),
    "step-discarded": () => count(stepsDiscarded, 1, {})
  })

  return {
    ...ofEvents,
    attempt: (ended) => {
      const where = at(ended)
      const { firstContentAt, outcome, report, startedAt } = ended
      if (report !== undefined) count(reports, 1, { ...where, outcome: report })
      count(attempts, 1, { ...where, status: statusOf(outcome) })
      if (isShared(outcome)) return
      if (startedAt !== undefined) count(attemptSeconds, seconds(startedAt, outcome.endedAt), where)
      if (startedAt !== undefined && firstContentAt !== undefined) {
        count(firstContentSeconds, seconds(startedAt, firstContentAt), where)
      }
      if (outcome._tag === "Completed" || outcome._tag === "Failed") spent(where, outcome.usage)
    },
    compaction: (ended) => {
      const { outcome } = ended
      count(compactions, 1, { outcome: outcome._tag.toLowerCase() })
      if (outcome._tag === "Compacted") spent(at(ended), outcome.usage)
    },
    decision: (decided) => {
      const { directive, failure } = decided
      if (directive._tag === "GiveUp") return count(refusals, 1, { because: directive.because })
      if (directive.resumes === true) return // the retry of its wait is counted
      const labels = { ...at(decided), reason: failure.reason }
      count(retries, 1, labels)
      count(backoffSeconds, directive.delayMs / 1_000, labels)
    },
    wait: ({ wake }) => count(waitsEnded, 1, { by: wake.type === "now" && wake.early === true ? "early" : wake.type }),
    tool: (ended) => {
      const { call, endedAt, isError, report, startedAt } = ended
      if (report !== undefined) count(reports, 1, { ...at(ended), outcome: report })
      const tool = known.tools(call.toolName)
      open(OF_TOOLS, { tool })
      const outcome = call.malformed !== undefined ? "malformed" : isError ? "error" : "ok"
      count(toolCalls, 1, { tool, outcome })
      count(toolSeconds, seconds(startedAt, endedAt), { tool })
    },
    seal: ({ end, retryLoopMs }) => {
      const { attempts, status, waitedMs = 0 } = end
      count(turns, 1, { status })
      count(turnAttempts, attempts, { status })
      if (retryLoopMs > 0) count(retryLoopSeconds, retryLoopMs / 1_000, { status })
      if (waitedMs > 0) count(waitedSeconds, waitedMs / 1_000, { status })
    }
  }
}

/** Counts the tokens of a call at a target. */
export const countingTokens =
  (count: ReturnType<typeof Series.counting>) =>
  (where: Readonly<Record<string, string>>, { inputTokens, outputTokens }: Message.Usage = {}): void => {
    if (inputTokens !== undefined) count(tokens, inputTokens, { ...where, direction: "input" })
    if (outputTokens !== undefined) count(tokens, outputTokens, { ...where, direction: "output" })
  }

// --- internal

const REASONS = Failure.Reason.literals
const STATUSES = TurnEvent.TurnStatus.literals

/** The causes that end or change a wait for a retry, which no answer about a tool call does; `early` stands for a retry that its gate admitted early. */
const WAKES: Readonly<Record<Exclude<RetryStrategy.Wake["type"], "answered"> | "early", true>> = {
  elapsed: true,
  early: true,
  now: true,
  cancelled: true,
  until: true,
  switched: true,
  extended: true,
  asked: true
}

const OF_TURNS: ReadonlyArray<Series.Fixed> = [
  [refusals, { because: Directive.Because.literals }],
  [waitsEnded, { by: Object.keys(WAKES) }],
  [finalSteps, { cause: Records.FinalCause.literals }],
  [compactions, { outcome: ["compacted", "nothing", "failed"] }],
  [stepsDiscarded, {}],
  [turns, { status: STATUSES }],
  [turnAttempts, { status: STATUSES }],
  [retryLoopSeconds, { status: STATUSES }],
  [waitedSeconds, { status: STATUSES }]
]

const OF_TARGETS: ReadonlyArray<Series.Fixed> = [
  [attempts, { status: ["completed", "interrupted", "lost", "shared", ...REASONS] }],
  [attemptSeconds, {}],
  [firstContentSeconds, {}],
  [retries, { reason: REASONS }],
  [backoffSeconds, { reason: REASONS }],
  [fallbacks, { outcome: ["applied", "answered"] }],
  [targetChanges, {}],
  [syntheticRetries, {}],
  [reports, { outcome: ["accepted", ...FinalReport.Refusal.literals] }],
  [tokens, { direction: ["input", "output"] }]
]

const OF_TOOLS: ReadonlyArray<Series.Fixed> = [
  [toolCalls, { outcome: ["ok", "error", "malformed"] }],
  [toolSeconds, {}]
]

/** How an attempt ended, in one word. */
const statusOf = (outcome: Observer.AttemptEnded["outcome"]): string =>
  isShared(outcome) ? "shared" : outcome._tag === "Failed" ? outcome.failure.reason : outcome._tag.toLowerCase()

/** Whether the failure was shared by another turn, without a call (X5). */
const isShared = (outcome: Observer.AttemptEnded["outcome"]): boolean =>
  outcome._tag === "Failed" && outcome.failure.shared === true

const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1_000
