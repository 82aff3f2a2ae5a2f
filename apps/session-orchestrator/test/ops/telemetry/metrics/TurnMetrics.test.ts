/** Tests the counts of each observation, with their labels. */
import { assert, describe } from "@effect/vitest"
import type { Observer } from "@holdfast/kernel"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Effect, Layer, Metric } from "effect"
import { type Known, labelValues } from "../../../../src/ops/telemetry/metrics/MetricLabels.ts"
import * as TurnMetrics from "../../../../src/ops/telemetry/metrics/TurnMetrics.ts"
import * as Observations from "../Observations.ts"
import * as It from "../../../It.ts"

/** Listeners on a separate registry, and the series that are not 0, by name and labels. */
const listening = (targets: Known["targets"] = []) =>
  Effect.map(Effect.context<never>(), (context) => {
    const labels = () => labelValues([], (name) => name, 1)
    const known = { providers: labels(), models: labels(), tools: labels(), targets }
    const listeners = TurnMetrics.observer(known, context)
    const series = () =>
      Metric.snapshotUnsafe(context)
        .filter(({ id }) => id.startsWith("holdfast_"))
        .map(({ attributes = {}, id, state }) => {
          const name = id.replace(/^holdfast_/, "").replace(/_total$/, "")
          const of = Object.entries(attributes).map(([label, value]) => `${label}=${value}`)
          const value =
            "buckets" in state
              ? state.count === 0
                ? 0
                : [state.count, state.sum]
              : Number("count" in state ? state.count : 0)
          return { name: of.length === 0 ? name : `${name} ${of.toSorted().join(" ")}`, value, state }
        })
    let before: Record<string, unknown> = {}
    /** The changes since the last call. */
    const counted = () => {
      const now: Record<string, unknown> = Object.fromEntries(
        series().flatMap(({ name, value }) => (value === 0 ? [] : [[name, value]]))
      )
      const news = Object.fromEntries(
        Object.entries(now).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value))
      )
      before = now
      return news
    }
    const happens = (type: Event["type"], fields: object) => {
      const { conversationId, turnId } = Observations.place
      const event = { type, conversationId, turnId, ...fields } as Event
      listeners.event?.({ ...Observations.place, event })
      return counted()
    }
    return { listeners, counted, series, happens }
  })

type Event = Observer.ObservedEvent["event"]

const alone = <A, E, R>(test: Effect.Effect<A, E, R>) => Effect.provideService(test, Metric.MetricRegistry, new Map())

const check = It.within(Layer.sync(Metric.MetricRegistry, () => new Map()))

const AT = "model=gpt-5 provider=openai"

describe("the counts", () => {
  check("rule A16: of an attempt: its end, its time, its first content and its tokens", function* () {
    const { counted, listeners } = yield* listening()
    listeners.attempt?.(Observations.attempt())
    assert.deepStrictEqual(counted(), {
      [`attempts ${AT} status=overloaded`]: 1,
      [`attempt_duration_seconds ${AT}`]: [1, 0.5]
    })
    listeners.attempt?.(
      Observations.attempt({ outcome: Observations.completed, firstContentAt: 2_500, report: "malformed" })
    )
    assert.deepStrictEqual(counted(), {
      [`attempts ${AT} status=completed`]: 1,
      [`attempt_duration_seconds ${AT}`]: [2, 2],
      [`attempt_first_content_seconds ${AT}`]: [1, 1],
      [`final_reports ${AT.replace("gpt-5", "gpt-5 outcome=malformed")}`]: 1,
      [`tokens direction=input ${AT}`]: 10,
      [`tokens direction=output ${AT}`]: 5
    })
    // It began in an earlier process, and the clock went back.
    listeners.attempt?.(
      Observations.attempt({ startedAt: undefined, firstContentAt: 2_500, outcome: { _tag: "Lost", endedAt: 9 } })
    )
    assert.deepStrictEqual(counted(), { [`attempts ${AT} status=lost`]: 1 })
    listeners.attempt?.(Observations.attempt({ startedAt: 3_000, outcome: { _tag: "Interrupted", endedAt: 2_000 } }))
    assert.deepStrictEqual(counted(), {
      [`attempts ${AT} status=interrupted`]: 1,
      [`attempt_duration_seconds ${AT}`]: [3, 2]
    })
    const partly = { ...Observations.failed, usage: { outputTokens: 2 } }
    listeners.attempt?.(Observations.attempt({ startedAt: undefined, outcome: partly }))
    assert.deepStrictEqual(counted(), { [`attempts ${AT} status=overloaded`]: 2, [`tokens direction=output ${AT}`]: 7 })
  })

  check("rule X5: of a shared failure: nothing else", function* () {
    const { counted, listeners } = yield* listening()
    const usage = { inputTokens: 1 }
    const outcome = { ...Observations.failed, usage, failure: { ...Observations.overloaded, shared: true as const } }
    listeners.attempt?.(Observations.attempt({ outcome, firstContentAt: 1_600 }))
    assert.deepStrictEqual(counted(), { [`attempts ${AT} status=shared`]: 1 })
  })

  check("of a compaction: its outcome, and the tokens of a successful one", function* () {
    const { counted, listeners } = yield* listening()
    const ended = (outcome: Observer.CompactionEnded["outcome"]) => {
      listeners.compaction?.({ ...Observations.place, attempt: 0, startedAt: 0, outcome })
      return counted()
    }
    const usage = { inputTokens: 3, outputTokens: 1 }
    const upTo = Ids.messageIdOf(Observations.place.turnId, 0)
    assert.deepStrictEqual(ended({ _tag: "Compacted", summary: "", upTo, usage, endedAt: 1 }), {
      "compactions outcome=compacted": 1,
      [`tokens direction=input ${AT}`]: 3,
      [`tokens direction=output ${AT}`]: 1
    })
    assert.deepStrictEqual(ended({ _tag: "Compacted", summary: "", upTo, endedAt: 1 }), {
      "compactions outcome=compacted": 2
    })
    assert.deepStrictEqual(ended({ _tag: "Nothing", endedAt: 1 }), { "compactions outcome=nothing": 1 })
    assert.deepStrictEqual(ended({ _tag: "Failed", failure: Observations.overloaded, spread: 0, endedAt: 1 }), {
      "compactions outcome=failed": 1
    })
  })

  check("of a decision and of a wait", function* () {
    const { counted, listeners } = yield* listening()
    listeners.decision?.(Observations.decision())
    const resumed = { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 7_000, resumes: true } as const
    listeners.decision?.(Observations.decision({ directive: resumed }))
    assert.deepStrictEqual(counted(), {
      [`retries ${AT} reason=overloaded`]: 1,
      [`backoff_seconds ${AT} reason=overloaded`]: 5
    })
    listeners.decision?.(Observations.decision({ directive: { _tag: "GiveUp", because: "not-retryable" } }))
    assert.deepStrictEqual(counted(), { "refusals because=not-retryable": 1 })
    const early = { type: "now", early: true } as const
    for (const wake of [{ type: "elapsed" }, { type: "now" }, early, early] as const)
      listeners.wait?.(Observations.wait({ wake }))
    assert.deepStrictEqual(counted(), {
      "waits_ended by=elapsed": 1,
      "waits_ended by=now": 1,
      "waits_ended by=early": 2
    })
  })

  check("of a tool call: its end, its time, and the report that it was", function* () {
    const { counted, listeners } = yield* listening()
    listeners.tool?.(Observations.tool())
    assert.deepStrictEqual(counted(), {
      "tool_calls outcome=ok tool=search": 1,
      "tool_duration_seconds tool=search": [1, 1]
    })
    listeners.tool?.(Observations.tool({ isError: true, endedAt: 3_000, report: "accepted" }))
    assert.deepStrictEqual(counted(), {
      "tool_calls outcome=error tool=search": 1,
      "tool_duration_seconds tool=search": [2, 1],
      [`final_reports ${AT.replace("gpt-5", "gpt-5 outcome=accepted")}`]: 1
    })
    const { call } = Observations.tool()
    listeners.tool?.(Observations.tool({ isError: true, call: { ...call, toolName: "another", malformed: "no JSON" } }))
    assert.deepStrictEqual(counted(), {
      "tool_calls outcome=malformed tool=other": 1,
      "tool_duration_seconds tool=other": [1, 1]
    })
  })

  check("of a turn that ended: its attempts, and its retries and waits if it had any", function* () {
    const { counted, listeners } = yield* listening()
    listeners.seal?.(Observations.seal())
    assert.deepStrictEqual(counted(), {
      "turns_sealed status=completed": 1,
      "turn_attempts status=completed": [1, 2],
      "turn_retry_loop_seconds status=completed": [1, 1],
      "turn_waited_seconds status=completed": [1, 0.8]
    })
    const { waitedMs: _, ...end } = Observations.seal({ status: "failed" }).end
    listeners.seal?.({ ...Observations.seal(), retryLoopMs: 0, end })
    assert.deepStrictEqual(counted(), { "turns_sealed status=failed": 1, "turn_attempts status=failed": [1, 2] })
    listeners.seal?.({ ...Observations.seal(), retryLoopMs: 1, end: { ...end, waitedMs: 1 } })
    assert.deepStrictEqual(counted(), {
      "turns_sealed status=failed": 2,
      "turn_attempts status=failed": [2, 4],
      "turn_retry_loop_seconds status=failed": [1, 0.001],
      "turn_waited_seconds status=failed": [1, 0.001]
    })
  })

  check("of events: changed targets, synthetic retries, final steps and discarded steps", function* () {
    const { happens } = yield* listening()
    const to = "openai/gpt-5"
    assert.deepStrictEqual(happens("retry-fallback-applied", { from: "a/b", to, role: "default" }), {
      [`fallbacks ${AT.replace("gpt-5", "gpt-5 outcome=applied")}`]: 1
    })
    assert.deepStrictEqual(happens("retry-fallback-succeeded", { model: to, role: "default" }), {
      [`fallbacks ${AT.replace("gpt-5", "gpt-5 outcome=answered")}`]: 1
    })
    assert.deepStrictEqual(happens("model-change", { from: "a/b", to }), { [`target_changes ${AT}`]: 1 })
    assert.deepStrictEqual(happens("model-change", { from: "a/b", to: "none" }), {
      "target_changes model=other provider=other": 1
    })
    assert.deepStrictEqual(happens("synthetic-retry", { attempt: 0, message: "" }), { [`synthetic_retries ${AT}`]: 1 })
    assert.deepStrictEqual(happens("final-turn", { cause: "context", step: 0 }), { "final_steps cause=context": 1 })
    assert.deepStrictEqual(happens("step-discarded", { step: 0, message: "" }), { steps_discarded: 1 })
    assert.deepStrictEqual(happens("retry-end", { success: true, attempt: 0 }), {})
  })

  check("have series at 0 from the start, or of unconfigured targets and tools from the first time", function* () {
    const statuses: ReadonlyArray<TurnEvent.TurnStatus> = ["completed", "failed", "aborted"]
    const { listeners, series } = yield* listening()
    const names = () => series().map(({ name }) => name)
    for (const status of statuses) assert.include(names(), `turns_sealed status=${status}`)
    assert.include(names(), "waits_ended by=early")
    assert.isTrue(series().every(({ state }) => !("incremental" in state) || state.incremental))
    assert.notInclude(names().join(), "provider=")
    listeners.decision?.(Observations.decision())
    assert.include(names(), `attempts ${AT} status=network`)
    assert.notInclude(names().join(), "tool=")
    listeners.tool?.(Observations.tool())
    assert.include(names(), "tool_calls outcome=malformed tool=search")
    const known = yield* listening([Observations.place.target]).pipe(alone)
    const ofKnown = known.series().map(({ name }) => name)
    assert.include(ofKnown, `attempts ${AT} status=network`)
  })

  check("have buckets for providers' times, a night, and attempts: dashboards rely on their edges", function* () {
    const { listeners, series } = yield* listening([Observations.place.target])
    listeners.tool?.(Observations.tool())
    const edges = (name: string) =>
      series().flatMap((one) =>
        one.name === name && "buckets" in one.state
          ? [one.state.buckets.map(([edge]) => edge).filter(Number.isFinite)]
          : []
      )
    const seconds = [[0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_200]]
    assert.deepStrictEqual(edges(`attempt_duration_seconds ${AT}`), seconds)
    assert.deepStrictEqual(edges(`attempt_first_content_seconds ${AT}`), seconds)
    assert.deepStrictEqual(edges("tool_duration_seconds tool=search"), seconds)
    const hours = [[1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600]]
    assert.deepStrictEqual(edges("turn_retry_loop_seconds status=failed"), hours)
    assert.deepStrictEqual(edges("turn_waited_seconds status=failed"), hours)
    assert.deepStrictEqual(edges("turn_attempts status=failed"), [[1, 2, 3, 5, 10, 20, 30, 50, 100]])
  })
})
