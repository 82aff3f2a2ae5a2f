/** Compares a turn that a host drives to its first content with a turn that is run. */
import { assert, describe, it } from "@effect/vitest"
import { Property, RecordingSink, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Failure, Ids } from "@holdfast/wire"
import { Clock, Context, Effect, Fiber, type Option, Random, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { BeforeContent, type Next, type PriorWork } from "../src/turn/BeforeContent.ts"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { Compactor } from "../src/ports/Compactor.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { type Listeners, Observer } from "../src/ports/Observer.ts"
import * as ProviderCall from "../src/calls/ProviderCall.ts"
import { Provider } from "../src/ports/Provider.ts"
import type * as Records from "../src/records/Records.ts"
import { RetryStrategy } from "../src/ports/RetryStrategy.ts"
import { noop, Toolbox } from "../src/ports/Toolbox.ts"
import * as Turn from "../src/turn/Turn.ts"

const { answer, badGateway, emits, emitsBody, overloaded, throws, tools, unauthorized } = ScriptedProvider

const facts = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  target: { provider: "test", model: "m" },
  history: [],
  prompt: "Hello",
  startedAt: 0
}

interface Case {
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  readonly delays: ReadonlyArray<number>
  readonly compacts: boolean
  /** What follows a failure after content. */
  readonly midStream?: "discard"
}

/** The visible results of a turn: for clients, on disk, for observers and for its provider. */
interface Seen {
  readonly events: ReadonlyArray<unknown>
  readonly records: ReadonlyArray<Records.Stored>
  readonly told: ReadonlyArray<readonly [kind: string, observation: unknown]>
  readonly requests: ReadonlyArray<unknown>
}

const KINDS = ["attempt", "compaction", "decision", "event", "wait", "tool", "seal"] as const

class World {
  readonly sink = new RecordingSink.RecordingSink()
  readonly records: Array<Records.Stored> = []
  readonly told: Array<readonly [string, unknown]> = []
  readonly repeated: Array<unknown> = []
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  readonly strategy: TestStrategy.TestStrategy
  readonly observer: Listeners
  readonly isCompacting: boolean

  constructor({ compacts, delays, midStream, scripts }: Case) {
    this.provider = ScriptedProvider.make(scripts)
    this.strategy = new TestStrategy.TestStrategy({
      delays: [...delays],
      ...(midStream && { midStream: () => midStream })
    })
    this.isCompacting = compacts
    this.observer = Object.fromEntries(
      KINDS.map((kind) => [kind, (observation: unknown) => void this.told.push([kind, observation])])
    )
    // A host writes the first events of a turn together with the turn.
    this.sink.persisted.push(...Turn.firstEvents(facts))
  }

  run(priorWork?: PriorWork, first?: ReturnType<Provider["Service"]["stream"]>) {
    const checkpoint: Checkpoint["Service"] = {
      known: this.records.slice(),
      run: (name, schema, effect) =>
        Effect.suspend(() => {
          const stored = checkpoint.known?.find((one) => one.name === name)
          const codec = Schema.fromJsonString(Schema.toCodecJson(schema))
          if (stored !== undefined) return Effect.orDie(Schema.decodeEffect(codec)(stored.value))
          return Effect.tap(effect, (result) =>
            Effect.map(
              Effect.orDie(Schema.encodeEffect(codec)(result)),
              (value) => void this.records.push({ name, value })
            )
          )
        })
    }
    let isFirst = first !== undefined
    const stream: Provider["Service"]["stream"] = (request) => {
      if (!isFirst || first === undefined) return this.provider.stream(request)
      isFirst = false
      return first
    }
    return Turn.runTurn({ ...facts, priorWork }).pipe(
      Effect.provideContext(
        Context.make(Provider, { stream }).pipe(
          Context.add(EventSink, this.sink.service),
          Context.add(Checkpoint, checkpoint),
          Context.add(Toolbox, noop),
          Context.add(RetryStrategy, this.strategy.service),
          Context.add(Observer, this.observer),
          (context) =>
            this.isCompacting ? Context.add(context, Compactor, { compact: () => Effect.succeed(undefined) }) : context
        )
      )
    )
  }

  beforeContent(spread: { readonly nextDoubleUnsafe: () => number }, known = this.records): BeforeContent {
    const strategy = this.strategy.service
    return new BeforeContent(
      {
        facts: { ...facts, maxRetries: strategy.budget.maxRetries },
        life: "",
        strategy,
        toolbox: noop,
        hasCompactor: this.isCompacting,
        observer: this.observer
      },
      {
        live: this.sink.service.live,
        repeat: (events) => void this.repeated.push(...events),
        spread: () => spread.nextDoubleUnsafe()
      },
      known.slice(),
      this.sink.persisted.map(({ type }) => type)
    )
  }

  /** Writes what a turn has to write, and begins what follows. */
  write(value: BeforeContent, next: Next | undefined): void {
    assert.strictEqual(next?._tag, "Append")
    if (next?._tag !== "Append") return
    value.begin()
    for (const { name, record } of next.records) this.records.push({ name, value: JSON.stringify(record.value) })
    for (const event of next.events) {
      this.sink.persisted.push(event)
      this.sink.events.push(event)
    }
  }

  /** Drives the turn as a host does, up to its first failure, and runs it some milliseconds after its records are written. */
  readonly driven = (afterMs = 0) =>
    Effect.gen({ self: this }, function* () {
      const value = this.beforeContent(yield* Random.Random)
      const next = value.next(yield* Clock.currentTimeMillis)
      assert.strictEqual(next?._tag, "Call")
      if (next?._tag !== "Call") return yield* Effect.die("no call")
      const stream = this.provider.stream(next.request)
      value.begin()
      const refusal = yield* refusalOf(stream)
      if (refusal === undefined) return yield* this.run(value.priorWork, stream)
      this.write(value, value.failed(ProviderCall.failureOf(refusal), yield* Clock.currentTimeMillis))
      const sealed = value.next(yield* Clock.currentTimeMillis)
      if (sealed?._tag === "Sealed") {
        value.begin()
        return sealed.end
      }
      yield* Effect.sleep(afterMs)
      return yield* this.run(value.priorWork)
    })

  /** Drives the turn until a call is not refused before content: calls, decisions, waits and its end. */
  readonly drivenOn = Effect.gen({ self: this }, function* () {
    const value = this.beforeContent(yield* Random.Random)
    let next = value.next(yield* Clock.currentTimeMillis)
    for (;;) {
      switch (next?._tag) {
        case undefined:
          return yield* this.run(value.priorWork)
        case "Append":
          this.write(value, next)
          next = value.next(yield* Clock.currentTimeMillis)
          break
        case "Wait":
          value.begin()
          assert.isDefined(value.priorWork?.wait)
          yield* Effect.sleep(next.retryAt - (yield* Clock.currentTimeMillis))
          next = value.elapsed(undefined, yield* Clock.currentTimeMillis)
          break
        case "Call": {
          const stream = this.provider.stream(next.request)
          value.begin()
          const refusal = yield* refusalOf(stream)
          if (refusal === undefined) return yield* this.run(value.priorWork, stream)
          next = value.failed(ProviderCall.failureOf(refusal), yield* Clock.currentTimeMillis)
          break
        }
        case "Sealed":
          value.begin()
          return next.end
        case "Ask":
          return assert.fail("there is no router")
        default:
          return next satisfies never
      }
    }
  })

  get seen(): Seen {
    const { events } = this.sink
    // The last event of a turn has the facts of its seal.
    const records = this.records.flatMap(({ name, value }) =>
      name === "seal" ? [] : [{ name, value: JSON.parse(value) }]
    )
    return { events, records, told: this.told, requests: this.provider.requests }
  }
}

/** The refusal of a stream that ends with its first event. */
const refusalOf = (
  stream: ReturnType<Provider["Service"]["stream"]>
): Effect.Effect<ProviderCall.Refusal | undefined> =>
  Stream.runHead(stream).pipe(
    Effect.map((head: Option.Option<{ readonly type: string }>) => {
      if (head._tag === "None") return undefined
      const event = head.value
      return isError(event) ? event : undefined
    }),
    Effect.catch((error) => Effect.succeed(error))
  )

const isError = (event: {
  readonly type: string
}): event is Extract<ProviderCall.Refusal, { readonly type: "error" }> => event.type === "error"

/** The number of draws does not matter. */
const CHANCE = { nextDoubleUnsafe: () => 0.25, nextIntUnsafe: () => 1 }

const lived = (given: Case, how: (world: World) => Effect.Effect<unknown, unknown>): Effect.Effect<Seen, unknown> =>
  Effect.gen(function* () {
    const world = new World(given)
    const fiber = yield* Effect.forkScoped(how(world), { startImmediately: true })
    yield* TestClock.adjust("1 day")
    yield* Fiber.join(fiber)
    return world.seen
  }).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.provideService(Random.Random, CHANCE))

const failing = fc.constantFrom(
  emits(overloaded),
  emits({ reason: "server-error", message: "Emitted without `retryable`." }),
  throws(badGateway),
  emitsBody(overloaded, "<html>the whole page</html>"),
  emits(unauthorized),
  emits({ ...unauthorized, reason: "context-overflow" }),
  throws({ ...overloaded, defect: true })
)

const last = fc.constantFrom(answer("Hi"), answer(), tools(ScriptedProvider.call("unknown")))

const cases: fc.Arbitrary<Case> = fc
  .record({
    failures: fc.array(failing, { maxLength: 3 }),
    end: last,
    delays: fc.array(fc.constantFrom(0, 1, 5_000), { maxLength: 3 }),
    compacts: fc.boolean()
  })
  .map(({ compacts, delays, end, failures }) => ({ scripts: [...failures, end, answer("Done")], delays, compacts }))

describe("a turn before its first content", () => {
  Property.prop("B1: emits, records, observes and requests what a turn that is run would", cases, (given) =>
    Effect.gen(function* () {
      const driven = yield* lived(given, (world) => world.driven())
      const run = yield* lived(given, (world) => world.run())
      assert.deepStrictEqual(driven, run)
    })
  )

  Property.prop("B1: over several failures and their waits it does as a turn that is run does", cases, (given) =>
    Effect.gen(function* () {
      const driven = yield* lived(given, (world) => world.drivenOn)
      const run = yield* lived(given, (world) => world.run())
      assert.deepStrictEqual(driven, run)
    })
  )

  it.effect("rule X1: another life continues from the records, in a wait, and after it", () =>
    Effect.gen(function* () {
      const world = new World({ scripts: [answer("Hi")], delays: [5_000, 10_000], compacts: false })
      const first = world.beforeContent(CHANCE)
      assert.strictEqual(first.next(10)?._tag, "Call")
      first.begin()
      world.write(first, first.failed({ failure: overloaded }, 20))
      const open = first.next(20)
      assert.deepInclude(open, { _tag: "Wait", retryAt: 5_020, delayMs: 5_000 })

      const second = world.beforeContent(CHANCE)
      assert.deepStrictEqual(second.next(5_020), open)
      const unbegun: PriorWork | undefined = second.priorWork
      assert.strictEqual(unbegun, undefined, "nothing has begun")
      world.sink.events.length = 0
      const late = world.beforeContent(CHANCE)
      late.next(5_021)
      late.begin()
      assert.deepStrictEqual(world.sink.events, [], "the wait has passed")
      assert.deepStrictEqual(late.priorWork, {
        announced: undefined,
        calledAt: undefined,
        isTakenUp: true,
        wait: undefined
      })
      second.begin()
      assert.deepStrictEqual(
        world.sink.events.map(({ type }) => type),
        ["provider-retry"]
      )
      assert.strictEqual(second.priorWork?.wait?.event.retryAt, 5_020)
      world.write(second, second.elapsed(undefined, 5_030))
      assert.deepStrictEqual(world.records.at(-1), {
        name: "step/0/sleep/0",
        value: '{"type":"elapsed","at":5030}'
      })
      assert.deepStrictEqual(second.priorWork, {
        announced: undefined,
        calledAt: undefined,
        isTakenUp: false,
        wait: second.priorWork?.wait
      })

      const third = world.beforeContent(CHANCE)
      const again = third.next(5_030)
      assert.strictEqual(again?._tag, "Call")
      assert.deepStrictEqual(again, second.next(5_030))
    })
  )

  it.effect("rule X7: a step that was voided in an earlier life begins once, with the call that its host made", () =>
    Effect.gen(function* () {
      const world = new World({
        scripts: [ScriptedProvider.breaksOff(ScriptedProvider.text("Hel")), answer("Hello")],
        delays: [5_000],
        compacts: false,
        midStream: "discard"
      })
      const first = yield* Effect.forkScoped(world.run(), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(
        world.records.map(({ name }) => name),
        ["step/0/attempt/0", "step/0/decision/0"]
      )
      const second = world.beforeContent(CHANCE)
      assert.strictEqual(second.next(5_000)?._tag, "Wait")
      second.begin()
      world.write(second, second.elapsed(undefined, 5_000))
      const call = second.next(5_000)
      if (call?._tag !== "Call") return assert.fail("there is no call")
      const { length } = world.sink.events
      second.begin()
      yield* TestClock.setTime(5_100)
      const end = yield* world.run(second.priorWork, world.provider.stream(call.request))
      assert.strictEqual(end.status, "completed")
      const types = world.sink.types.slice(length)
      assert.deepStrictEqual(
        types.filter((type) => type === "step-start" || type === "text-delta"),
        ["step-start", "text-delta"]
      )
      const attempts = world.told.flatMap(([kind, made]) => (kind === "attempt" ? [made] : []))
      assert.deepInclude(attempts.at(-1), { startedAt: 5_000 })
    })
  )

  it("rule X1: records that contradict each other, or that cannot be read, are not followed", () => {
    const world = new World({ scripts: [], delays: [], compacts: false })
    const follows = (...records: ReadonlyArray<Records.Stored>) =>
      world.beforeContent(CHANCE, [...records]).next(0) !== undefined
    assert.isTrue(follows())
    assert.isTrue(follows({ name: "of another engine", value: "1" }))
    assert.isFalse(follows({ name: "step/0/attempt/0", value: "{" }))
    assert.isFalse(follows({ name: "step/0/decision/3", value: '{"_tag":"GiveUp"}' }))
  })

  it("rule X2: events that an earlier life has not written are written, and those that it has are emitted again", () => {
    const world = new World({ scripts: [], delays: [], compacts: false })
    const [begun, ...rest] = world.sink.persisted.splice(0)
    if (begun === undefined) return assert.fail("there are no events")
    world.sink.persisted.push(begun)
    const value = world.beforeContent(CHANCE)
    world.write(value, value.next(0))
    assert.deepStrictEqual(world.repeated, [begun])
    assert.deepStrictEqual(world.sink.persisted, [begun, ...rest])
    assert.strictEqual(value.next(0)?._tag, "Call")
  })

  it("rule X8: a tool call is not begun in the name of a life that does not run it", () => {
    const world = new World({ scripts: [], delays: [], compacts: false })
    const call = { type: "tool-call", toolCallId: "c", toolName: "t", input: {} }
    const value = JSON.stringify({ _tag: "Completed", content: [call], endedAt: 1, finishReason: "tool-calls" })
    assert.isUndefined(world.beforeContent(CHANCE, [{ name: "step/0/attempt/0", value }]).next(2))
  })

  it("B2: out of turn it emits and records nothing", () => {
    const world = new World({ scripts: [], delays: [5_000], compacts: false })
    const value = world.beforeContent(CHANCE)
    value.begin()
    value.interrupted(1)
    assert.isUndefined(value.elapsed(undefined, 1))
    assert.isUndefined(value.failed({ failure: overloaded }, 1))
    value.next(1)
    assert.isUndefined(value.failed({ failure: overloaded }, 1), "the call has not begun")
    assert.isUndefined(value.elapsed(undefined, 1))
    value.begin()
    assert.deepStrictEqual(world.told, [])
    assert.deepStrictEqual(world.sink.events, [])
    assert.isUndefined(value.priorWork)
  })

  it("B1: a call that its host interrupts is reported once", () => {
    const world = new World({ scripts: [], delays: [5_000], compacts: false })
    const value = world.beforeContent(CHANCE)
    value.next(10)
    value.begin()
    assert.strictEqual(value.priorWork?.calledAt, 10)
    value.interrupted(30)
    value.interrupted(40)
    const attempts = world.told.filter(([kind]) => kind === "attempt")
    assert.strictEqual(attempts.length, 1)
    assert.deepInclude(attempts[0]?.[1], {
      outcome: { _tag: "Interrupted", endedAt: 30 },
      firstContentAt: undefined,
      report: undefined
    })
    assert.isUndefined(value.priorWork?.calledAt)
  })

  it.effect("rule D5: a retry that is due when the turn is handed over is told all the same", () =>
    Effect.gen(function* () {
      const given = { scripts: [emits(overloaded), answer("Hi")], delays: [0], compacts: false }
      const { events } = yield* lived(given, (world) => world.driven(10))
      assert.include(JSON.stringify(events), "provider-retry")
    })
  )

  it("B1: returns the failure of a refusal, emitted or thrown", () => {
    const { retryable: _, ...emitted } = overloaded
    assert.deepStrictEqual(ProviderCall.failureOf({ type: "error", failure: emitted, body: "page" }), {
      failure: { ...overloaded, retryable: false },
      body: "page"
    })
    assert.deepStrictEqual(ProviderCall.failureOf(new Failure.ProviderFailure({ failure: overloaded })), {
      failure: overloaded
    })
  })
})
