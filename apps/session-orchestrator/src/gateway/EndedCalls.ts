/**
 * Counts the calls through the gateway that ended before their turn was on disk: answered at once, refused for good by their first attempt, or left by
 * their client in it.
 *
 * Metrics and health have all of them, the report those that were answered. A call whose turn goes on is counted as a turn, its first attempt too.
 */
import { Prices } from "@holdfast/policy"
import { Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Metric, Option, type Scope } from "effect"
import type { Config } from "../config/Config.ts"
import { RecentCalls } from "../engine/gate/RecentCalls.ts"
import { AnsweredCalls, type AnsweredCallsRow, HOUR_MS } from "../storage/AnsweredCalls.ts"
import * as SpendSums from "../config/limits/SpendSums.ts"
import * as MetricLabels from "../ops/telemetry/metrics/MetricLabels.ts"
import * as Series from "../ops/telemetry/metrics/Series.ts"
import * as TurnMetrics from "../ops/telemetry/metrics/TurnMetrics.ts"

const calls = Metric.counter("holdfast_gateway_calls_total", {
  description:
    "Calls through the gateway that became no turn, by provider, model and status: answered, or the reason of the failure.",
  incremental: true
})

/** How long a count of answered calls is in memory alone, in milliseconds. */
export const WRITE_MS = 5_000

/** Names of models that are kept in reports, beside the configured ones. */
const MOST_NAMES = 200

/** The counter of the calls of a service. */
export const make = Effect.fnUntraced(function* (config: Config["Service"], redact: (text: string) => string) {
  const { add } = yield* AnsweredCalls
  const answered = yield* writing(add)
  const recent = Option.getOrUndefined(yield* Effect.serviceOption(RecentCalls))
  const context = yield* Effect.context<never>()
  const known = MetricLabels.ofConfig(config, redact)
  // Clients make up names: beyond so many they are kept as one.
  const names = MetricLabels.labelValues(
    known.targets.map(({ model }) => model),
    redact,
    MOST_NAMES
  )
  const series: Series.Fixed = [calls, { status: ["answered", ...Failure.Reason.literals] }]
  const at = MetricLabels.ofTargets(known, [series], Series.opening(context))
  const count = Series.counting(context)
  const spent = TurnMetrics.countingTokens(count)
  return (target: Target.Target, { endedAt, error: failure, status, usage }: TurnEvent.TurnEnd): void => {
    if (failure?.shared === true) return // there was no call
    const where = at(target)
    const isAnswered = status === "completed"
    count(calls, 1, { ...where, status: isAnswered ? "answered" : (failure?.reason ?? "aborted") })
    spent(where, usage)
    const named = { provider: target.provider, model: names(target.model) }
    recent?.count({ target: named, endedAt, failure, isAnswered })
    if (isAnswered) answered(named, usage, endedAt)
  }
})

/** Counts a call that has ended at a moment, in epoch milliseconds. */
type Add = (target: Target.Target, usage: Message.Usage, at: number) => void

/**
 * Counts answered calls while the scope is open, and writes the counts `WRITE_MS` after the first of them, and when it closes.
 *
 * Nothing waits for the disk: a call only adds to a count in memory, after its last byte. A process that is killed loses the counts in between.
 * Counts that could not be written are written with the next ones.
 */
export const writing = Effect.fnUntraced(function* (
  add: AnsweredCalls["Service"]["add"]
): Effect.fn.Return<Add, never, Scope.Scope> {
  let rows = new Map<string, AnsweredCallsRow>()
  let isPending = false
  const enter = (row: AnsweredCallsRow): void => {
    const key = `${row.hour} ${row.target}`
    const known = rows.get(key)
    rows.set(key, known === undefined ? row : sum(known, row))
  }
  // A stop that comes while counts are written waits for them.
  const write = Effect.uninterruptible(
    Effect.suspend(() => {
      const written = rows
      rows = new Map()
      isPending = false
      return written.size === 0
        ? Effect.void
        : Effect.catch(add(Array.from(written.values())), ({ message }) => {
            for (const row of written.values()) enter(row)
            return Effect.logWarning(`Calls through the gateway are counted later: ${message}`)
          })
    })
  )
  yield* Effect.addFinalizer(() => write)
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  return (target, usage, at) => {
    const isUnreported = usage.inputTokens === undefined || usage.outputTokens === undefined
    enter({
      hour: Math.floor(at / HOUR_MS) * HOUR_MS,
      target: Target.format(target),
      calls: 1,
      unreported: isUnreported ? 1 : 0,
      tokens: SpendSums.tokensOf(usage)
    })
    if (isPending) return
    isPending = true
    fork(Effect.forkIn(Effect.delay(write, Duration.millis(WRITE_MS)), scope))
  }
})

// --- internal

const sum = (a: AnsweredCallsRow, b: AnsweredCallsRow): AnsweredCallsRow => ({
  ...a,
  calls: a.calls + b.calls,
  unreported: a.unreported + b.unreported,
  tokens: Prices.add(a.tokens, b.tokens)
})
