import { assert, describe, it } from "@effect/vitest"
import {
  Eventful,
  RecordingSink,
  ReplayCheckpoint,
  Scenario,
  ScriptedProvider,
  TestStrategy
} from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "@holdfast/wire"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { Compactor } from "../src/ports/Compactor.ts"
import { FinalReport } from "../src/ports/FinalReport.ts"
import * as Observer from "../src/ports/Observer.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"

const { bothWays, settle } = Scenario
const { answer, call, emits, hangs, overloaded, text, throws, tools, unauthorized } = ScriptedProvider

/** The observations in order, with their kinds. */
class Notebook {
  readonly told: Array<{ readonly kind: keyof Observer.Observations; readonly said: object }> = []
  readonly events: Array<Observer.ObservedEvent["event"]> = []
  readonly listeners: Observer.Listeners = {
    attempt: (said) => void this.told.push({ kind: "attempt", said }),
    compaction: (said) => void this.told.push({ kind: "compaction", said }),
    event: ({ event }) => void this.events.push(event),
    decision: (said) => void this.told.push({ kind: "decision", said }),
    wait: (said) => void this.told.push({ kind: "wait", said }),
    tool: (said) => void this.told.push({ kind: "tool", said }),
    seal: (said) => void this.told.push({ kind: "seal", said }),
    moved: (said) => void this.told.push({ kind: "moved", said })
  }

  get kinds(): ReadonlyArray<string> {
    return this.told.map(({ kind }) => kind)
  }

  of<Kind extends keyof Observer.Observations>(kind: Kind): ReadonlyArray<Observer.Observations[Kind]> {
    return this.told.filter((one) => one.kind === kind).map(({ said }) => said as Observer.Observations[Kind])
  }
}

const strategy = () => new TestStrategy.TestStrategy({ delays: [5_000, 10_000] })

const toolbox = {
  definitions: [],
  run: ({ toolName }: { readonly toolName: string }) =>
    Effect.as(Effect.sleep("1 second"), { output: toolName, isError: toolName === "bad" })
}

describe("an observer", () => {
  bothWays("rule A16: receives each attempt, decision, wait, tool call and seal once", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const run = yield* start({
        scripts: [throws(overloaded), tools(call("good"), call("bad")), throws(overloaded), answer("Hello")],
        strategy: strategy(),
        toolbox,
        observer: notebook.listeners
      })
      yield* settle(run)
      assert.deepStrictEqual(notebook.kinds, [
        "attempt",
        "decision",
        "wait",
        "attempt",
        "tool",
        "tool",
        "attempt",
        "decision",
        "wait",
        "attempt",
        "seal"
      ])
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ step, attempt, retry, outcome }) => [step, attempt, retry, outcome._tag]),
        [
          [0, 0, undefined, "Failed"],
          [0, 1, 0, "Completed"],
          [1, 0, undefined, "Failed"],
          [1, 1, 0, "Completed"]
        ]
      )
      assert.deepStrictEqual(
        notebook.of("wait").map(({ delayMs, wake, at }) => [delayMs, wake.type, at]),
        [
          [5_000, "elapsed", 5_000],
          [5_000, "elapsed", 11_000]
        ]
      )
      assert.deepStrictEqual(
        notebook
          .of("tool")
          .map(({ call, isError, othersRunning, startedAt, endedAt }) => [
            call.toolName,
            isError,
            othersRunning,
            endedAt - startedAt
          ]),
        [
          ["good", false, 1, 1_000],
          ["bad", true, 0, 1_000]
        ]
      )
      const [seal] = notebook.of("seal")
      assert.strictEqual(seal?.end.attempts, 4)
      assert.strictEqual(seal?.retryLoopMs, 10_000)
      assert.strictEqual(notebook.of("attempt")[2]?.stepStartedAt, 6_000)
    })
  )

  bothWays("rule A16: a turn that fails in spite of its retries spent time in them until its seal", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const spent = yield* start({
        scripts: [throws(overloaded), throws(overloaded), throws(overloaded)],
        strategy: strategy(),
        observer: notebook.listeners
      })
      assert.strictEqual((yield* settle(spent)).status, "failed")
      assert.deepStrictEqual(
        notebook.of("seal").map(({ retryLoopMs }) => retryLoopMs),
        [15_000]
      )
    })
  )

  bothWays("rule A16: a turn that was aborted in a wait spent time in retries until then", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const abort = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [throws(overloaded), throws(overloaded)],
        strategy: strategy(),
        observer: notebook.listeners,
        abort: Deferred.await(abort)
      })
      yield* TestClock.adjust(8_000)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* settle(run)).status, "aborted")
      assert.deepStrictEqual(
        notebook.of("seal").map(({ retryLoopMs }) => retryLoopMs),
        [8_000]
      )
    })
  )

  bothWays("rule A16: a turn that never waited has spent no time in retries", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const scripts = [throws(unauthorized)]
      const run = yield* start({ scripts, strategy: strategy(), observer: notebook.listeners })
      assert.strictEqual((yield* settle(run)).status, "failed")
      assert.deepStrictEqual(
        notebook.of("seal").map(({ retryLoopMs }) => retryLoopMs),
        [0]
      )
    })
  )

  it.effect(
    "rule A16: an attempt, and a decision about a failed compaction, have the time when it began, on any engine",
    () =>
      Effect.gen(function* () {
        for (const engine of [{ known: [] }, undefined]) {
          yield* TestClock.setTime(0)
          const notebook = new Notebook()
          const failed = () => Effect.fail(new Failure.ProviderFailure({ failure: overloaded }))
          const compactor = Layer.succeed(Compactor, { compact: failed })
          const run = yield* Scenario.straight({
            scripts: [emits({ reason: "context-overflow", message: "prompt is too long", retryable: false })],
            strategy: strategy(),
            services: Layer.merge(
              compactor,
              Layer.succeed(Checkpoint, { ...engine, run: (_name, _schema, effect) => effect })
            ),
            observer: notebook.listeners
          })
          assert.strictEqual((yield* settle(run)).status, "failed")
          assert.deepStrictEqual(
            notebook.of("decision").map(({ startedAt }) => startedAt),
            [0, 5_000, 15_000]
          )
          yield* TestClock.setTime(0)
          const retried = new Notebook()
          const other = yield* Scenario.straight({
            scripts: [throws(overloaded), answer("Hello")],
            strategy: strategy(),
            services: Layer.succeed(Checkpoint, { ...engine, run: (_name, _schema, effect) => effect }),
            observer: retried.listeners
          })
          yield* settle(other)
          assert.deepStrictEqual(
            retried.of("attempt").map(({ startedAt }) => startedAt),
            [0, 5_000]
          )
        }
      })
  )

  bothWays("rule P18: receives every event except deltas, once, and in order", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const run = yield* start({ ...Eventful.turn(), observer: notebook.listeners })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      const isRecorded = ({ type }: { readonly type: string }) => type !== "step-start" && type !== "provider-retry"
      assert.deepStrictEqual(notebook.events.filter(isRecorded), run.sink.persisted)
      const types = new Set<string>(notebook.events.map(({ type }) => type))
      for (const type of ["step-start", "provider-retry", "retry-end", "compaction", "synthetic-retry", "final-turn"]) {
        assert.isTrue(types.has(type), type)
      }
      // There, and back again with the next step.
      const counts = { "retry-fallback-applied": 1, "retry-fallback-succeeded": 1, "model-change": 2 }
      for (const [type, count] of Object.entries(counts)) {
        assert.strictEqual(notebook.events.filter((event) => event.type === type).length, count, type)
      }
    })
  )

  it.effect("rule P18: receives single types of events, each with its own type", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const observer = Observer.on({
        "provider-retry": ({ attempt, delayMs }, { step }) =>
          void heard.push(`retry ${attempt} of ${step}: ${delayMs}`),
        "retry-end": ({ success }) => void heard.push(`ended: ${success}`),
        "turn-end": ({ status }) => void heard.push(status)
      })
      const run = yield* Scenario.straight({
        scripts: [throws(overloaded), answer("Hi")],
        strategy: strategy(),
        observer
      })
      yield* settle(run)
      assert.deepStrictEqual(heard, ["retry 0 of 0: 5000", "ended: true", "completed"])
    })
  )

  bothWays("rule A16: receives a compaction like an attempt, and rejected reports (A12)", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const run = yield* start({ ...Eventful.turn(), observer: notebook.listeners })
      const end = yield* settle(run)
      assert.deepStrictEqual(
        notebook.of("compaction").map(({ attempt, outcome, startedAt }) => [attempt, outcome._tag, startedAt]),
        [[1, "Compacted", 0]]
      )
      assert.strictEqual(notebook.of("attempt").length + notebook.of("compaction").length, end.attempts)
      assert.deepStrictEqual(
        notebook.of("tool").map(({ call, isError, report }) => [call.toolName, report, isError]),
        [
          ["good", undefined, false],
          ["report", "invalid", true],
          ["report", "accepted", false]
        ]
      )
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ target }) => target.model),
        ["model", "model", "big", "big", "model", "model"]
      )
    })
  )

  it.effect("receives those events of a write that were not recorded before", () =>
    Effect.gen(function* () {
      const first = yield* Scenario.straight({ scripts: [answer("Hello")] })
      yield* Fiber.join(first.fiber)
      // The records of an earlier version that died between the answer and its seal.
      const sink = new RecordingSink.RecordingSink()
      sink.persisted.push(...first.sink.persisted.slice(0, -1))
      const notebook = new Notebook()
      const again = yield* Scenario.straight({ scripts: [answer("Hello")], sink, observer: notebook.listeners })
      yield* Fiber.join(again.fiber)
      assert.deepStrictEqual(
        notebook.events.map(({ type }) => type),
        ["step-start", "turn-end"]
      )
    })
  )

  it.effect("rule A12: receives each submitted report with its result", () =>
    Effect.gen(function* () {
      const malformed = { type: "tool-call", toolCallId: "1", toolName: "report", input: "{", malformed: "no" } as const
      const cut = { reads: [[malformed, { type: "finish", finishReason: "length" }]], end: Effect.void } as const
      for (const [scripts, reports] of [
        [
          [ScriptedProvider.tools(malformed), answer('{"findings":1}')],
          ["malformed", "accepted"]
        ],
        [
          [cut, answer('{"findings":1}')],
          ["incomplete", "accepted"]
        ],
        [
          [answer('{"findings"'), answer("Well."), answer('{"findings":1}')],
          ["incomplete", "accepted"]
        ]
      ] as const) {
        const notebook = new Notebook()
        const report = { tool: { name: "report", inputSchema: {} }, validate: () => undefined }
        const services = Layer.succeed(FinalReport, report)
        const run = yield* Scenario.straight({ scripts, strategy: strategy(), services, observer: notebook.listeners })
        assert.strictEqual((yield* settle(run)).status, "completed")
        const told = [...notebook.of("tool"), ...notebook.of("attempt")].flatMap(({ report }) => report ?? [])
        assert.deepStrictEqual<ReadonlyArray<string>>(told, reports)
      }
    })
  )

  it.effect("rule A12: receives a rejected report of the last step", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const { scripts, ...rest } = Eventful.turn()
      const run = yield* Scenario.straight({
        ...rest,
        scripts: scripts.slice(4),
        limits: { maxTurns: 1 },
        observer: notebook.listeners
      })
      yield* settle(run)
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ report }) => report),
        ["invalid", undefined]
      )
    })
  )

  bothWays("receives a refusal, and the turn that failed with it", (start) =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const run = yield* start({
        scripts: [throws(unauthorized)],
        strategy: strategy(),
        observer: notebook.listeners
      })
      yield* settle(run)
      assert.deepStrictEqual(notebook.kinds, ["attempt", "decision", "seal"])
      const [decision] = notebook.of("decision")
      assert.strictEqual(decision?.failure.reason, "auth")
      assert.strictEqual(decision?.directive._tag, "GiveUp")
    })
  )

  it.effect("receives the time of the first content", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const late = answer("Hello")
      const slow = { ...late, reads: [] as typeof late.reads, end: Effect.sleep("3 seconds") }
      const run = yield* Scenario.straight({ scripts: [slow], observer: notebook.listeners })
      yield* settle(run)
      const second = new Notebook()
      const other = yield* Scenario.straight({ scripts: [answer("Hel", "lo")], observer: second.listeners })
      yield* settle(other)
      assert.isUndefined(notebook.of("attempt")[0]?.firstContentAt)
      assert.strictEqual(second.of("attempt")[0]?.firstContentAt, second.of("attempt")[0]?.startedAt)
    })
  )

  it.effect("receives an attempt that an abort cut short", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const reached = yield* Deferred.make<void>()
      const abort = yield* Deferred.make<void>()
      const run = yield* Scenario.straight({
        scripts: [hangs(reached, text("Hel"))],
        abort: Deferred.await(abort),
        observer: notebook.listeners
      })
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      yield* Fiber.join(run.fiber)
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ outcome }) => outcome._tag),
        ["Interrupted"]
      )
      assert.strictEqual(notebook.of("seal")[0]?.end.status, "aborted")
    })
  )

  it.effect(
    "rule A16: receives an attempt as interrupted when its process gives the turn up, or its log stops it",
    () =>
      Effect.gen(function* () {
        const notebook = new Notebook()
        const reached = yield* Deferred.make<void>()
        const scripts = [hangs(reached, text("Hel"))]
        const run = yield* Scenario.straight({ scripts, observer: notebook.listeners })
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(run.fiber)
        const stopped = new TurnStopped({ message: "the disk is full" })
        const services = Layer.succeed(Checkpoint, {
          known: [],
          run: (_name, _schema, effect) => effect,
          mark: () => Effect.fail(stopped)
        })
        const other = yield* Scenario.straight({ scripts: [answer("Hel")], observer: notebook.listeners, services })
        assert.strictEqual(yield* Effect.flip(Fiber.join(other.fiber)), stopped)
        assert.deepStrictEqual(notebook.kinds, ["attempt", "attempt"])
        for (const { outcome } of notebook.of("attempt")) assert.strictEqual(outcome._tag, "Interrupted")
      })
  )

  it.effect("rule P18: receives the events of a write during which its process gives the turn up", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const reached = yield* Deferred.make<void>()
      const written = yield* Deferred.make<void>()
      const sink = new RecordingSink.RecordingSink()
      const { persist } = sink.service
      const slow: typeof persist = (...write) =>
        Deferred.succeed(reached, undefined).pipe(
          Effect.andThen(Deferred.await(written)),
          Effect.andThen(persist(...write))
        )
      Object.assign(sink.service, { persist: slow })
      const run = yield* Scenario.straight({ scripts: [], sink, observer: notebook.listeners })
      yield* Deferred.await(reached)
      const released = yield* Effect.forkChild(Fiber.interrupt(run.fiber), { startImmediately: true })
      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(released)
      assert.isNotEmpty(sink.persisted)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(notebook.events, sink.persisted)
    })
  )

  it.effect("receives the events and the seal of a turn that its host has sealed", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      yield* settle(yield* Scenario.straight({ scripts: [answer("Hello")], observer: notebook.listeners }))
      const [seal] = notebook.of("seal")
      assert.isDefined(seal)
      const host = new Notebook()
      const observed: Array<Observer.ObservedEvent> = []
      const event = (each: Observer.ObservedEvent) => void observed.push(each)
      Observer.sealed(Observer.all([host.listeners, { event }]), [seal.end, seal.end], seal)
      assert.deepStrictEqual([host.events, host.told], [[seal.end, seal.end], [{ kind: "seal", said: seal }]])
      const { conversationId, step, stepStartedAt, target, turnId } = seal
      const place = { conversationId, step, stepStartedAt, target, turnId, event: seal.end }
      assert.deepStrictEqual(observed, [place, place])
    })
  )

  it.effect("rule X2: receives an attempt whose process died during it", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const losesOnce = new Set(["step/0/attempt/0"])
      const replay = new ReplayCheckpoint.ReplayCheckpoint((name) => losesOnce.delete(name))
      const run = yield* Scenario.dying(() => false)({
        scripts: [answer("lost"), answer("Hello")],
        replay,
        observer: notebook.listeners
      })
      yield* settle(run)
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ attempt, outcome }) => [attempt, outcome._tag]),
        [
          [0, "Completed"],
          [0, "Lost"],
          [1, "Completed"]
        ]
      )
    })
  )

  it.effect("rule M1: receives a flag for the first attempt of a manual retry", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const run = yield* Scenario.straight({
        scripts: [throws(overloaded), tools(call("good")), answer("Hello")],
        prompt: null,
        strategy: strategy(),
        toolbox,
        observer: notebook.listeners
      })
      yield* settle(run)
      assert.deepStrictEqual(
        notebook.of("attempt").map(({ isManualRetry }) => isManualRetry),
        [true, false, false]
      )
      const prompted = new Notebook()
      yield* settle(yield* Scenario.straight({ scripts: [answer("Hello")], observer: prompted.listeners }))
      assert.deepStrictEqual(
        prompted.of("attempt").map(({ isManualRetry }) => isManualRetry),
        [false]
      )
      const [decision] = notebook.of("decision")
      assert.deepStrictEqual([decision?.startedAt, decision?.endedAt], [0, 0])
    })
  )

  it.effect("that throws affects neither the turn nor other listeners", () =>
    Effect.gen(function* () {
      const notebook = new Notebook()
      const throwing = () => {
        throw new Error("a listener's bug")
      }
      const run = yield* Scenario.straight({
        scripts: [throws(overloaded), tools(call("good")), answer("Hello")],
        strategy: strategy(),
        toolbox,
        observer: Observer.all([
          { attempt: throwing, decision: throwing, wait: throwing, tool: throwing, seal: throwing, moved: throwing },
          notebook.listeners
        ])
      })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(notebook.told.length, 7)
    })
  )
})
