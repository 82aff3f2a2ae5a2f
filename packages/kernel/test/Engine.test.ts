/** A turn that is stepped over a log does what a turn does that is run over its ports. */
import { assert, describe } from "@effect/vitest"
import { Property, RecordingSink, ScriptedProvider, Setting, TestStrategy } from "@holdfast/kernel/testing"
import { defined, Ids, type TurnEvent } from "@holdfast/wire"
import { Context, Effect, Exit, Fiber, Layer, Random, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { type Listeners, Observer } from "../src/ports/Observer.ts"
import { Provider } from "../src/ports/Provider.ts"
import { fits, RetryStrategy, type Wake } from "../src/ports/RetryStrategy.ts"
import { Toolbox } from "../src/ports/Toolbox.ts"
import type * as Records from "../src/records/Records.ts"
import * as Turn from "../src/turn/Turn.ts"
import * as SteppedTurn from "./SteppedTurn.ts"

/** A generated turn and what happens to it. */
interface Case {
  readonly setting: Setting.Setting
  readonly toolMs: number
  readonly isConfirmed: boolean
  readonly midStream: TurnEvent.MidStream
  /** What ends the sleeps, in order; `undefined`: they elapse, and so does each after the last. */
  readonly wakes: ReadonlyArray<Wake | undefined>
  readonly asks: boolean
  readonly abortMs: number | undefined
}

/** A disk at the beginning of a life. */
interface Disk {
  readonly records: ReadonlyArray<Records.Stored>
  readonly persisted: ReadonlyArray<TurnEvent.PersistedEvent>
}

const EMPTY: Disk = { records: [], persisted: [] }

/** What a life has left. */
interface Lived {
  readonly exit: unknown
  /** All records, in order. */
  readonly records: ReadonlyArray<{ readonly name: string; readonly value: unknown }>
  /** What clients received in this life, in order. */
  readonly events: ReadonlyArray<TurnEvent.TurnEvent>
  readonly persisted: ReadonlyArray<TurnEvent.PersistedEvent>
  readonly told: ReadonlyArray<readonly [kind: string, observation: unknown]>
  readonly tools: ReadonlyArray<unknown>
  readonly requests: ReadonlyArray<unknown>
  /** The disk after each append. */
  readonly disks: ReadonlyArray<Disk>
}

const KINDS = ["attempt", "compaction", "decision", "event", "wait", "tool", "seal"] as const

const TOOLS = ["a", "b", "c"].map((name) => ({ name, inputSchema: {}, isIdempotent: name === "c" }))

class World {
  readonly sink = new RecordingSink.RecordingSink()
  readonly told: Array<readonly [string, unknown]> = []
  readonly records: Array<Records.Stored>
  readonly persisted: Array<TurnEvent.PersistedEvent>
  readonly disks: Array<Disk> = []
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  private readonly given: Case
  private slept = 0

  constructor(given: Case, disk: Disk) {
    this.given = given
    this.records = disk.records.slice()
    this.persisted = disk.persisted.slice()
    this.sink.persisted.push(...disk.persisted)
    const answered = disk.records.filter(
      ({ name, value }) => /\/(?:attempt|compaction)\/\d+$/.test(name) && !isLost(value)
    )
    this.provider = ScriptedProvider.make(given.setting.scripts.slice(answered.length))
    // A sleep that has no record is slept again, with the same end.
    this.slept = disk.records.filter(({ name }) => name.includes("/sleep/")).length
  }

  get services() {
    const { asks, isConfirmed, midStream, setting, toolMs, wakes } = this.given
    const strategy = new TestStrategy.TestStrategy({
      delays: Setting.DELAYS,
      midStream: () => midStream,
      ...defined({ ask: asks ? () => QUESTION : undefined })
    }).service
    const service: RetryStrategy["Service"] = {
      ...strategy,
      sleep: (delay, _, calls) =>
        Effect.suspend(() => {
          const wake = wakes[this.slept++]
          const isFit = wake !== undefined && fits(wake, calls)
          return isFit ? Effect.as(Effect.yieldNow, wake) : Effect.sleep(delay)
        })
    }
    const observer: Listeners = Object.fromEntries(
      KINDS.map((kind) => [kind, (observation: unknown) => void this.told.push([kind, observation])])
    )
    const sink: EventSink["Service"] = { ...this.sink.service, withdraw: () => true }
    const definitions = isConfirmed ? TOOLS.map((tool) => ({ ...tool, confirmWithinMs: 2_000 })) : TOOLS
    const toolbox: Toolbox["Service"] = {
      definitions,
      run: ({ toolName }) => Effect.as(Effect.sleep(toolMs), { output: toolName, isError: toolName === "b" })
    }
    const base = Context.make(Provider, this.provider).pipe(
      Context.add(EventSink, sink),
      Context.add(RetryStrategy, service),
      Context.add(Observer, observer),
      Context.add(Toolbox, toolbox)
    )
    return Effect.map(
      Effect.scoped(Layer.build(Layer.provide(Setting.servicesOf(setting), Layer.succeed(Provider, this.provider)))),
      (more) => Context.merge(base, more)
    )
  }

  get input(): Turn.TurnInput {
    const { abortMs, setting } = this.given
    return {
      conversationId: Ids.ConversationId.make("c1"),
      turnId: Ids.TurnId.make("t1"),
      target: { provider: "test", model: "model" },
      history: [],
      prompt: "Hello",
      startedAt: 0,
      life: `life ${this.records.length}`,
      ...(setting.maxTurns === null ? {} : { limits: { maxTurns: setting.maxTurns } }),
      ...(abortMs === undefined ? {} : { abort: Effect.sleep(abortMs) })
    }
  }

  /** The turn over its ports: an append takes a moment, and is not interrupted. */
  get run() {
    const checkpoint: Checkpoint["Service"] = {
      known: this.records.slice(),
      mark: (name) => this.write(name, true),
      run: (name, schema, effect) =>
        Effect.tap(effect, (result) =>
          Effect.flatMap(Effect.orDie(Schema.encodeEffect(schema)(result)), (value) => this.write(name, value))
        )
    }
    return Effect.flatMap(this.services, (services) =>
      Effect.provideContext(Turn.runTurn(this.input), Context.add(services, Checkpoint, checkpoint))
    )
  }

  get stepped() {
    const log: SteppedTurn.Log = {
      records: this.records.slice(),
      persisted: this.persisted.slice(),
      append: ({ events, records }) =>
        Effect.map(Effect.yieldNow, () => {
          for (const { name, record } of records) this.records.push({ name, value: JSON.stringify(record.value) })
          this.persisted.push(...events)
          this.disks.push({ records: this.records.slice(), persisted: this.persisted.slice() })
        })
    }
    return Effect.flatMap(this.services, (services) => SteppedTurn.run(services, this.input, log))
  }

  private write(name: string, value: unknown): Effect.Effect<void> {
    return Effect.uninterruptible(
      Effect.map(Effect.yieldNow, () => void this.records.push({ name, value: JSON.stringify(value) }))
    )
  }

  lived(exit: unknown): Lived {
    // The seal is in the events of a log.
    const kept = this.records.filter(({ name }) => name !== "seal")
    return {
      exit,
      records: inOrder(
        kept.map(({ name, value }) => ({ name, value: JSON.parse(value) })),
        ({ name }) => (name.includes("/tool/") ? name : undefined)
      ),
      events: this.sink.events,
      persisted: this.sink.persisted,
      told: this.told.flatMap(([kind, observation]) => (kind === "tool" ? [] : [[kind, placed(observation)] as const])),
      tools: inOrder(
        this.told.flatMap(([kind, observation]) =>
          kind === "tool" ? [{ ...Object(observation), othersRunning: 0 }] : []
        ),
        ({ call, step }) => `${step} ${call.toolCallId}`
      ),
      requests: this.provider.requests,
      disks: this.disks
    }
  }
}

/** Sorts the neighbours that have a key: the tool calls of a response run at the same time, and end in any order. */
const inOrder = <A>(list: ReadonlyArray<A>, keyOf: (one: A) => string | undefined): ReadonlyArray<A> => {
  const groups: Array<Array<A>> = []
  for (const [i, one] of list.entries()) {
    const before = list[i - 1]
    const isNext = before !== undefined && keyOf(before) !== undefined && keyOf(one) !== undefined
    if (isNext) groups.at(-1)?.push(one)
    else groups.push([one])
  }
  return groups.flatMap((group) => group.toSorted((a, b) => ((keyOf(a) ?? "") < (keyOf(b) ?? "") ? -1 : 1)))
}

/** A result that is written together with the last one of its step is observed in the next step. */
const placed = (observation: unknown): unknown => {
  const observed = Object(observation)
  return observed.event?.type === "tool-result" ? { ...observed, step: 0, stepStartedAt: 0 } : observation
}

const isLost = (value: string): boolean => value.includes('"_tag":"Lost"')

const QUESTION = {
  asks: { because: "request", tokens: 9, limit: 1, waitedMs: 1, message: "May it go on?" },
  answerWithinMs: 4_000
} as const

const CHANCE = { nextDoubleUnsafe: () => 0.25, nextIntUnsafe: () => 1 }

/** Lets all fibers run that need no time: until nothing has happened for some turns of the event loop. */
const settled = (world: World) =>
  Effect.promise(async () => {
    let before = -1
    for (let quiet = 0; quiet < 10; quiet++) {
      await new Promise(setImmediate)
      const { events } = world.sink
      const count = events.length + world.records.length + world.told.length + world.provider.requests.length
      if (count !== before) quiet = 0
      before = count
    }
  })

/** Runs a life to its end. */
const live = (given: Case, how: "run" | "stepped", disk: Disk = EMPTY): Effect.Effect<Lived> =>
  Effect.gen(function* () {
    const world = new World(given, disk)
    const fiber = yield* Effect.forkScoped(world[how], { startImmediately: true })
    // Everything due in a moment runs before the next one: times are compared.
    let quarters = 0
    for (yield* settled(world); fiber.pollUnsafe() === undefined; yield* settled(world)) {
      yield* TestClock.adjust("250 millis")
      assert.isBelow(quarters++, 400, "the turn does not end")
    }
    const exit = yield* Fiber.await(fiber)
    assert.deepStrictEqual(world.sink.contradictions, [])
    return world.lived(Exit.isSuccess(exit) ? exit.value : exit)
  }).pipe(
    Effect.scoped,
    Effect.provide(TestClock.layer()),
    Effect.provideService(Random.Random, CHANCE)
  ) as Effect.Effect<Lived>

const by = { commandId: "k", origin: "a test" }

const wake = fc.constantFrom<Wake | undefined>(
  undefined,
  undefined,
  { type: "now", by },
  { type: "now", early: true },
  { type: "cancelled", by },
  { type: "until", until: 9_000, by },
  { type: "extended", byMs: 700, by },
  { type: "switched", target: { provider: "other", model: "m" }, by },
  { type: "answered", toolCallId: "call-a", approved: true, by },
  { type: "answered", toolCallId: "call-b", approved: false, by }
)

const cases: fc.Arbitrary<Case> = fc.record({
  setting: Setting.arbitrary,
  toolMs: fc.constantFrom(0, 500),
  isConfirmed: fc.boolean(),
  midStream: fc.constantFrom<TurnEvent.MidStream>("fail", "discard", "unseen"),
  wakes: fc.constant([]),
  asks: fc.constant(false),
  abortMs: fc.constant(undefined)
})

const steered = fc
  .record({ given: cases, wakes: fc.array(wake, { maxLength: 8 }), asks: fc.boolean() })
  .map(({ asks, given, wakes }) => ({ ...given, wakes, asks }))

const compared = (given: Case, disk?: Disk) =>
  Effect.gen(function* () {
    const { disks: _, ...run } = yield* live(given, "run", disk)
    const { disks, ...stepped } = yield* live(given, "stepped", disk)
    assert.deepStrictEqual(stepped.records, run.records)
    assert.deepStrictEqual(stepped.events, run.events)
    assert.deepStrictEqual(stepped, run)
    return disks
  })

describe("a turn that is stepped", () => {
  Property.prop("has the records, events and observations of a turn that is run", cases, (given) =>
    Effect.asVoid(compared(given))
  )

  Property.prop(
    "rule X1: goes on from each of its appends as a turn that is run does",
    fc.record({ given: cases, at: fc.nat() }),
    ({ at, given }) =>
      Effect.gen(function* () {
        const disks = yield* compared(given)
        const disk = disks[at % disks.length]
        const isSealed = disk?.persisted.at(-1)?.type === "turn-end"
        if (!isSealed) yield* compared(given, disk)
      })
  )

  Property.prop(
    "rule X4, X5, X11: commands, early wakes and questions change its waits as those of a turn that is run",
    steered,
    (given) => Effect.asVoid(compared(given))
  )

  Property.prop(
    "rule X1: is steered after each of its appends",
    fc.record({ given: steered, at: fc.nat() }),
    ({ at, given }) =>
      Effect.gen(function* () {
        const disks = yield* compared(given)
        const disk = disks[at % disks.length]
        if (disk?.persisted.at(-1)?.type !== "turn-end") yield* compared(given, disk)
      })
  )

  Property.prop(
    "rule D8: an abort seals it as a turn that is run",
    fc.record({ given: cases, at: fc.nat({ max: 16 }) }),
    ({ at, given }) => Effect.asVoid(compared({ ...given, abortMs: 125 + 250 * at }))
  )
})
