/** Turns that end early: by their user, by a failing port, or by their process. */
import { assert, describe, it } from "@effect/vitest"
import { RecordingSink, ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber, Layer, type Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Checkpoint from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import * as ModelContext from "../src/turn/ModelContext.ts"
import { Provider } from "../src/ports/Provider.ts"
import { RetryStrategy } from "../src/ports/RetryStrategy.ts"
import { Router } from "../src/ports/Router.ts"
import * as Toolbox from "../src/ports/Toolbox.ts"
import * as Turn from "../src/turn/Turn.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"

const { bothWays, settle } = Scenario
const { answer, call, emits, hangs, overloaded, text, tools } = ScriptedProvider

const strategy = TestStrategy.make

describe("an abort", () => {
  bothWays("rule D8: during the sleep it seals the turn at once, and no further attempt is made", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [emits(overloaded)],
        strategy: strategy(),
        abort: Deferred.await(abort)
      })
      yield* TestClock.adjust(1_000)
      yield* Deferred.succeed(abort, undefined)
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "aborted")
      assert.strictEqual(end.endedAt, 1_000)
      assert.deepStrictEqual(run.sink.types.slice(-3), ["retry-end", "message", "turn-end"])
      assert.strictEqual(run.sink.of("retry-end")[0]?.finalError, "Retry cancelled")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(run.provider.requests.length, 1)
      assert.deepStrictEqual(run.sink.of("error"), [])
    })
  )

  it.effect("that comes while the seal is being written changes nothing: there is one seal", () =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const writing = yield* Deferred.make<void>()
      const written = yield* Deferred.make<void>()
      const sink = new RecordingSink.RecordingSink()
      const slow = {
        ...sink.service,
        persist: (...persisted: Parameters<(typeof sink.service)["persist"]>) =>
          persisted[0].some(({ type }) => type === "turn-end")
            ? Deferred.succeed(writing, undefined).pipe(
                Effect.andThen(Deferred.await(written)),
                Effect.andThen(sink.service.persist(...persisted))
              )
            : sink.service.persist(...persisted)
      }
      const { conversationId, target, turnId } = Scenario
      const input = { conversationId, turnId, target, history: [], prompt: "Hello", startedAt: 0 }
      const fiber = yield* Turn.runTurn({ ...input, abort: Deferred.await(abort) }).pipe(
        Effect.provide(
          Layer.mergeAll(
            Layer.succeed(Provider, ScriptedProvider.make([answer("Hello")])),
            Layer.succeed(EventSink, slow),
            Toolbox.layerNoop,
            Checkpoint.layerMemory
          )
        ),
        Effect.forkChild({ startImmediately: true })
      )
      yield* Deferred.await(writing)
      yield* Deferred.succeed(abort, undefined)
      yield* TestClock.adjust(0)
      yield* Deferred.succeed(written, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
      assert.deepStrictEqual(
        sink.of("turn-end").map(({ status }) => status),
        ["completed"]
      )
    })
  )

  bothWays("during a response it keeps the content, and does not send it to the model", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [hangs(reached, text("Half"))],
        strategy: strategy(),
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      const message = run.sink.of("message")[1]?.message
      assert.isTrue(message?.role === "assistant" && message.error?.reason === "aborted")
      assert.deepStrictEqual(message?.content as unknown, [{ type: "text", text: "Half" }])
    })
  )

  bothWays(
    "during a tool it interrupts the tool, and the model of the next turn receives an unknown outcome",
    (start) =>
      Effect.gen(function* () {
        const abort = yield* Deferred.make<void>()
        const running = yield* Deferred.make<void>()
        const interrupted = yield* Deferred.make<void>()
        const toolbox = {
          definitions: [],
          run: () =>
            Deferred.succeed(running, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
            )
        }
        const run = yield* start({ scripts: [tools(call("slow"))], toolbox, abort: Deferred.await(abort) })
        yield* Deferred.await(running)
        yield* Deferred.succeed(abort, undefined)
        assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
        yield* Deferred.await(interrupted)

        const history = run.sink.of("message").map((event) => event.message)
        const next = yield* start({ scripts: [answer("ok")], history, prompt: "And?" })
        yield* settle(next)
        const results = next.provider.requests[0]?.messages[2]
        assert.isTrue(results?.role === "tool" && results.content[0]?.isError)
      })
  )

  bothWays("before the first attempt makes none", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [], abort: Effect.void })
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      assert.strictEqual(run.provider.requests.length, 0)
    })
  )

  it.effect("differs from an interruption of the fiber, which leaves the turn unsealed", () =>
    Effect.gen(function* () {
      const run = yield* Scenario.straight({ scripts: [emits(overloaded)], strategy: strategy() })
      yield* Fiber.interrupt(run.fiber)
      assert.deepStrictEqual(run.sink.types, ["turn-start", "message", "step-start", "provider-retry"])
    })
  )

  bothWays("counts the call that it cut short, and what that call had cost", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const usage = { inputTokens: 10, outputTokens: 2 }
      const run = yield* start({
        scripts: [hangs(reached, text("Half"), { type: "usage", usage })],
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.attempts, 1)
      assert.deepStrictEqual(end.usage, usage)
    })
  )

  bothWays("rule P11: during a retry closes the chain, and makes no further attempt", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const policy = strategy()
      const run = yield* start({
        scripts: [emits(overloaded), hangs(reached)],
        strategy: policy,
        abort: Deferred.await(abort)
      })
      yield* TestClock.adjust(5_000)
      yield* Deferred.await(reached)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      const ends = run.sink.of("retry-end")
      assert.deepStrictEqual(
        ends.map(({ success, attempt, finalError }) => ({ success, attempt, finalError })),
        [{ success: false, attempt: 0, finalError: "Retry cancelled" }]
      )
      assert.strictEqual(run.provider.requests.length, 2)
    })
  )

  bothWays("rule P14: during a wait ends the retry first, then the turn, in one write", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const run = yield* start({
        scripts: [emits(overloaded)],
        strategy: strategy(),
        abort: Deferred.await(abort)
      })
      yield* Effect.repeat(Effect.yieldNow, { until: () => run.sink.types.at(-1) === "provider-retry" })
      yield* Deferred.succeed(abort, undefined)
      yield* Fiber.join(run.fiber)
      assert.deepStrictEqual(run.sink.writes.at(-1), ["retry-end", "message", "turn-end"])
      assert.strictEqual(run.sink.of("retry-end")[0]?.finalError, "Retry cancelled")
    })
  )

  bothWays("during tools keeps the results so far, and answers the other calls as interrupted", (start) =>
    Effect.gen(function* () {
      const abort = yield* Deferred.make<void>()
      const running = yield* Deferred.make<void>()
      const toolbox = {
        definitions: ["quick", "slow", "late"].map((name) => ({ name, inputSchema: {}, isIdempotent: true })),
        run: ({ toolName }: { readonly toolName: string }) =>
          toolName === "slow"
            ? Effect.andThen(Deferred.succeed(running, undefined), Effect.never)
            : Effect.succeed({ output: `${toolName} done`, isError: false })
      }
      const run = yield* start({
        scripts: [tools(call("quick"), call("slow"), call("late"))],
        toolbox,
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(running)
      yield* Effect.repeat(Effect.yieldNow, { until: () => run.sink.of("tool-result").length === 1 })
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      const context = ModelContext.of(run.sink.of("message").map(({ message }) => message))
      const results = context.at(-1)
      assert.deepStrictEqual(
        results?.role === "tool" ? results.content.map(({ output, isError }) => [output, isError]) : [],
        [
          ["quick done", false],
          [ModelContext.INTERRUPTED, true],
          [ModelContext.INTERRUPTED, true]
        ]
      )
    })
  )

  bothWays("rule D8: while the next step's route is chosen keeps the results of the step before once", (start) =>
    Effect.gen(function* () {
      const [abort, looking] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const router: Router["Service"] = {
        begin: ({ current, primary }) =>
          current === undefined
            ? Effect.succeed({ route: { target: primary } })
            : Effect.andThen(Deferred.succeed(looking, undefined), Effect.never),
        direct: () => Effect.succeed({ _tag: "GiveUp", because: "exhausted" })
      }
      const run = yield* start({
        scripts: [tools(call("quick"))],
        toolbox: { definitions: [], run: () => Effect.succeed({ output: "done", isError: false }) },
        services: Layer.succeed(Router, router),
        abort: Deferred.await(abort)
      })
      yield* Deferred.await(looking)
      yield* Deferred.succeed(abort, undefined)
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "aborted")
      const messages = run.sink.of("message").map(({ message }) => message)
      assert.deepStrictEqual(
        messages.map(({ role }) => role),
        ["user", "assistant", "tool"]
      )
    })
  )

  it.effect.each(["turn-end", "usage"])(
    "of a turn whose %s could not be recorded returns no seal that is not on disk",
    (lost) =>
      Effect.gen(function* () {
        const isSealing = yield* Deferred.make<void>()
        const isDown = yield* Deferred.make<void>()
        const abort = yield* Deferred.make<void>()
        const stopped = new TurnStopped({ message: "going down" })
        const persisted: Array<string> = []
        const sink: EventSink["Service"] = {
          live: () => {},
          persist: (events) =>
            events.some(({ type }) => type === lost)
              ? Effect.andThen(
                  Deferred.succeed(isSealing, undefined),
                  Effect.andThen(Deferred.await(isDown), Effect.fail(stopped))
                )
              : Effect.sync(() => void persisted.push(...events.map(({ type }) => type)))
        }
        const layer = Layer.mergeAll(
          Layer.succeed(Provider, ScriptedProvider.make([answer("ok")])),
          Layer.succeed(EventSink, sink),
          Toolbox.layerNoop,
          Checkpoint.layerMemory
        )
        const { conversationId, turnId, target } = Scenario
        const fiber = yield* Turn.runTurn({
          conversationId,
          turnId,
          target,
          history: [],
          prompt: "Hello",
          startedAt: 0,
          abort: Deferred.await(abort)
        }).pipe(Effect.provide(layer), Effect.flip, Effect.forkChild({ startImmediately: true }))
        yield* Deferred.await(isSealing)
        // The write is under way when the user aborts, and then fails: nothing may follow it.
        yield* Deferred.succeed(abort, undefined)
        yield* Deferred.succeed(isDown, undefined)
        assert.strictEqual(yield* Fiber.join(fiber), stopped)
        assert.notInclude(persisted, "turn-end")
        assert.notInclude(persisted, lost)
      })
  )
})

describe("an abort of a turn that resumes", () => {
  it.effect(
    "rule D8: takes effect when the turn has restored its state, and its seal follows the events persisted before",
    () =>
      Effect.gen(function* () {
        const replay = new ReplayCheckpoint.ReplayCheckpoint()
        const sink = new RecordingSink.RecordingSink()
        const life = { scripts: [emits(overloaded)], strategy: strategy(), replay, sink }
        const first = yield* Scenario.replayed(life)
        yield* Fiber.interrupt(first.fiber)
        const second = yield* Scenario.replayed({ ...life, abort: Effect.void })
        const end = yield* Fiber.join(second.fiber)
        assert.strictEqual(end.status, "aborted")
        assert.deepStrictEqual(
          sink.persisted.map(({ type }) => type),
          ["turn-start", "message", "retry-end", "message", "turn-end"]
        )
        assert.strictEqual(second.provider.requests.length, 0)
      })
  )

  it.effect("rule D8: waits for the events that are still being restored", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const sink = new RecordingSink.RecordingSink()
      const life = { scripts: [emits(overloaded)], strategy: strategy(), replay, sink }
      const first = yield* Scenario.replayed(life)
      yield* Fiber.interrupt(first.fiber)
      const restoring = yield* Deferred.make<void>()
      const restored = yield* Deferred.make<void>()
      const { service } = sink
      const slow = Object.assign(Object.create(sink), {
        service: {
          ...service,
          persist: (...persisted: Parameters<typeof service.persist>) =>
            Deferred.succeed(restoring, undefined).pipe(
              Effect.andThen(Deferred.await(restored)),
              Effect.andThen(service.persist(...persisted))
            )
        }
      })
      const second = yield* Scenario.replayed({ ...life, sink: slow, abort: Deferred.await(restoring) })
      yield* Effect.yieldNow
      yield* Deferred.succeed(restored, undefined)
      assert.strictEqual((yield* Fiber.join(second.fiber)).status, "aborted")
      assert.deepStrictEqual(
        sink.persisted.map(({ type }) => type),
        ["turn-start", "message", "retry-end", "message", "turn-end"]
      )
      assert.deepStrictEqual(sink.contradictions, [])
    })
  )

  it.effect("rule D8: waits for the results of an engine that cannot look ahead", () =>
    Effect.gen(function* () {
      const results = new Map<string, unknown>()
      const [isAsked, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const checkpoint: Checkpoint.Checkpoint["Service"] = {
        run: <A, I, E, R>(name: string, _schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
          Effect.suspend((): Effect.Effect<A, E, R> => {
            if (!results.has(name)) return Effect.map(effect, (result) => (results.set(name, result), result))
            const returned = Effect.succeed(results.get(name) as A) // what was put there under this name
            return Deferred.succeed(isAsked, undefined).pipe(
              Effect.andThen(Deferred.await(goOn)),
              Effect.andThen(returned)
            )
          })
      }
      const sink = new RecordingSink.RecordingSink()
      const { conversationId, turnId, target } = Scenario
      const live = (abort: Effect.Effect<void>) =>
        Turn.runTurn({ conversationId, turnId, target, history: [], prompt: "Hello", startedAt: 0, abort }).pipe(
          Effect.provide(
            Layer.mergeAll(
              Layer.succeed(Provider, ScriptedProvider.make([emits(overloaded)])),
              Layer.succeed(EventSink, sink.service),
              Layer.succeed(RetryStrategy, strategy().service),
              Layer.succeed(Checkpoint.Checkpoint, checkpoint),
              Toolbox.layerNoop
            )
          ),
          Effect.forkScoped({ startImmediately: true })
        )
      yield* Fiber.interrupt(yield* live(Effect.never))
      const second = yield* live(Deferred.await(isAsked))
      yield* Effect.repeat(Effect.yieldNow, { times: 5 })
      yield* Deferred.succeed(goOn, undefined)
      assert.strictEqual((yield* Fiber.join(second)).status, "aborted")
      assert.deepStrictEqual(
        sink.persisted.map(({ type }) => type),
        ["turn-start", "message", "retry-end", "message", "turn-end"]
      )
      assert.deepStrictEqual(sink.contradictions, [])
    })
  )

  it.effect("rule C10: an abort of a turn whose records cannot be read stops it, and writes nothing", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const sink = new RecordingSink.RecordingSink()
      const life = { scripts: [emits(overloaded), emits(overloaded)], strategy: strategy(), replay, sink }
      const first = yield* Scenario.replayed(life)
      yield* TestClock.adjust("6 seconds")
      yield* Fiber.interrupt(first.fiber)
      assert.strictEqual(first.provider.requests.length, 2)
      const names = Array.from(replay.records.keys())
      const unreadable = names.findLast((name) => name.includes("decision")) ?? ""
      replay.records.set(unreadable, { _tag: "Nonsense" })
      const persisted = sink.persisted.length
      const second = yield* Scenario.replayed({ ...life, abort: Effect.void })
      const stopped = yield* Effect.flip(Fiber.join(second.fiber))
      assert.instanceOf(stopped, TurnStopped)
      assert.isTrue(stopped.defect)
      assert.include(stopped.message, unreadable)
      assert.strictEqual(sink.persisted.length, persisted)
      assert.deepStrictEqual(Array.from(replay.records.keys()), names)
    })
  )

  it.effect("stops it if its events cannot be persisted again, and writes nothing", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const sink = new RecordingSink.RecordingSink()
      const life = { scripts: [emits(overloaded)], strategy: strategy(), replay, sink }
      const first = yield* Scenario.replayed(life)
      yield* Fiber.interrupt(first.fiber)
      const names = Array.from(replay.records.keys())
      const down = new TurnStopped({ message: "the store is down" })
      const service = { ...sink.service, persist: () => Effect.fail(down) }
      const failing = Object.assign(Object.create(sink), { service })
      const second = yield* Scenario.replayed({ ...life, sink: failing, abort: Effect.void })
      assert.strictEqual(yield* Effect.flip(Fiber.join(second.fiber)), down)
      assert.deepStrictEqual(Array.from(replay.records.keys()), names)
    })
  )
})

describe("a port that interrupts itself", () => {
  bothWays("in a tool is answered like a failure of the tool", (start) =>
    Effect.gen(function* () {
      const toolbox = { definitions: [], run: () => Effect.interrupt }
      const run = yield* start({ scripts: [tools(call("moody")), answer("I see")], toolbox })
      assert.strictEqual((yield* Fiber.join(run.fiber)).status, "completed")
      assert.isTrue(run.sink.of("tool-result")[0]?.isError)
    })
  )

  bothWays("rule D14: in a sleep ends the turn, because the turn was not interrupted", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded)], strategy: strategy({ sleep: Effect.interrupt }) })
      const end = yield* Fiber.join(run.fiber)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(run.provider.requests.length, 1)
    })
  )
})
