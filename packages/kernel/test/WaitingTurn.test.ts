/** Compares a command on a turn that is not run with the same command on a turn that is run. */
import { assert, describe, it } from "@effect/vitest"
import { Property, RecordingSink, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Context, Effect, Exit, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { type Listeners, Observer } from "../src/ports/Observer.ts"
import { Provider } from "../src/ports/Provider.ts"
import { RetryStrategy, type Wake } from "../src/ports/RetryStrategy.ts"
import { noop, Toolbox } from "../src/ports/Toolbox.ts"
import { TurnParked } from "../src/ports/TurnParked.ts"
import * as Records from "../src/records/Records.ts"
import * as Turn from "../src/turn/Turn.ts"
import * as WaitingTurn from "../src/turn/WaitingTurn.ts"

const { answer, badGateway, emits, overloaded, throws, tools } = ScriptedProvider

const facts = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  target: { provider: "test", model: "m" },
  prompt: "Hello",
  startedAt: 0
}

/** The conversation before the turn, which the command is carried out without. */
const HISTORY = [
  {
    role: "user" as const,
    id: Ids.messageIdOf(Ids.TurnId.make("t0"), 0),
    turnId: Ids.TurnId.make("t0"),
    createdAt: 0,
    content: [{ type: "text" as const, text: "Before" }]
  }
]

type Waking = Extract<WaitingTurn.Command, { readonly _tag: "Steer" }>["wake"]

const by = { commandId: "command", origin: "test" }
const commands: ReadonlyArray<Waking | "abort"> = [
  "abort",
  { type: "cancelled", by },
  { type: "until", until: 90_000, by },
  { type: "extended", byMs: 5_000, by },
  { type: "now", by },
  { type: "switched", target: { provider: "other", model: "m" }, by }
]

const KINDS = ["attempt", "decision", "event", "wait", "tool", "seal"] as const

/** One turn over several lives: `parksAt` is the wait at which a life leaves memory. */
class World {
  readonly sink = new RecordingSink.RecordingSink()
  readonly records: Array<Records.Stored> = []
  readonly told: Array<readonly [string, unknown]> = []
  readonly observer: Listeners = Object.fromEntries(
    KINDS.map((kind) => [kind, (observation: unknown) => void this.told.push([kind, observation])])
  )
  private readonly provider: ReturnType<typeof ScriptedProvider.make>

  constructor(scripts: ReadonlyArray<ScriptedProvider.Script>) {
    this.provider = ScriptedProvider.make(scripts)
  }

  live(sleep: Effect.Effect<Wake, TurnParked>, abort?: Effect.Effect<void>) {
    const known = this.records.slice()
    const codecOf = <A, I>(schema: Schema.Codec<A, I>) => Schema.fromJsonString(Schema.toCodecJson(schema))
    const checkpoint: Checkpoint["Service"] = {
      known,
      run: (name, schema, effect) => {
        const stored = known.find((one) => one.name === name)
        if (stored !== undefined) return Effect.orDie(Schema.decodeEffect(codecOf(schema))(stored.value))
        return Effect.tap(effect, (result) =>
          Effect.map(Effect.orDie(Schema.encodeEffect(codecOf(schema))(result)), (value) => {
            if (name !== "seal") this.records.push({ name, value })
          })
        )
      }
    }
    const strategy = new TestStrategy.TestStrategy({ delays: [10_000, 20_000, 30_000, 40_000], sleep })
    return Effect.exit(
      Turn.runTurn({ ...facts, history: HISTORY, ...(abort && { abort }) }).pipe(
        Effect.provideContext(
          Context.make(Provider, this.provider).pipe(
            Context.add(EventSink, this.sink.service),
            Context.add(Checkpoint, checkpoint),
            Context.add(Toolbox, noop),
            Context.add(RetryStrategy, strategy.service),
            Context.add(Observer, this.observer)
          )
        )
      )
    )
  }
}

const parked = new TurnParked({ retryAt: 0 })

/** Sleeps end at once, up to the one at which the turn leaves memory. */
const parksAt = (count: number): Effect.Effect<Wake, TurnParked> => {
  let sleeps = 0
  return Effect.suspend(() => (sleeps++ < count ? Effect.succeed<Wake>({ type: "elapsed" }) : Effect.fail(parked)))
}

const cases = fc.record({
  /** Steps with tool calls before the step that fails. */
  steps: fc.nat(2),
  failures: fc.array(fc.constantFrom(emits(overloaded), throws(badGateway)), { minLength: 1, maxLength: 4 }),
  afterMs: fc.constantFrom(0, 1, 7_000),
  command: fc.constantFrom(...commands)
})

describe("a turn that waits and is not run", () => {
  Property.prop(
    "rule X4: a command records, emits and reports what it does on a turn that is run",
    cases,
    ({ afterMs, command, failures, steps }) =>
      Effect.gen(function* () {
        const scripts = [
          ...Array.from({ length: steps }, (_, n) => tools(ScriptedProvider.call("unknown", `call-${n}`))),
          ...failures,
          answer("Done"),
          answer("Done")
        ]
        const world = new World(scripts)
        assert.isTrue(Exit.isFailure(yield* world.live(parksAt(failures.length - 1))))
        yield* TestClock.adjust(afterMs)
        const known = world.records.slice()
        const persisted = world.sink.persisted.map(({ type }) => type)
        const told: Array<readonly [string, unknown]> = []
        const listeners: Listeners = Object.fromEntries(
          KINDS.map((kind) => [kind, (observation: unknown) => void told.push([kind, observation])])
        )
        const steered = WaitingTurn.steer(
          { facts, known, persisted },
          command === "abort" ? { _tag: "Abort", at: afterMs } : { _tag: "Steer", wake: command, at: afterMs }
        )
        if (steered === undefined) return assert.fail("the turn waits")
        assert.deepStrictEqual(told, [], "nothing is reported before it is on disk")
        steered.report(listeners)

        world.told.length = 0
        let isFirst = true
        const sleep = Effect.suspend((): Effect.Effect<Wake, TurnParked> => {
          if (!isFirst || command === "abort") return Effect.fail(parked)
          isFirst = false
          return Effect.succeed(command)
        })
        yield* command === "abort" ? world.live(Effect.never, Effect.void) : world.live(sleep)
        const [first] = world.told
        // A turn that resumes announces its wait.
        if (JSON.stringify(first).includes('"provider-retry"')) world.told.shift()
        const { next, record } = steered
        const expected = world.told.slice(0, next._tag === "Continues" ? 1 : undefined)
        assert.deepStrictEqual(told, expected)
        const [wake] = world.records.slice(known.length)
        assert.strictEqual(record === undefined, command === "abort")
        if (record !== undefined) {
          const { number, step, value } = record.wake
          assert.strictEqual(Records.nameOf("Wake", step, number, record.part), wake?.name)
          assert.deepStrictEqual(value, JSON.parse(wake?.value ?? ""))
        }
        if (next._tag === "Sealed") {
          assert.strictEqual(next.position, persisted.length)
          assert.deepStrictEqual<unknown>(next.events, world.sink.persisted.slice(persisted.length))
        }
        if (next._tag === "Waits")
          assert.strictEqual(next.awaited.isMoved, command !== "abort" && command.type === "until")
      })
  )

  const waiting = Effect.gen(function* () {
    const world = new World([emits(overloaded), answer("Done")])
    yield* world.live(parksAt(0))
    return { facts, known: world.records, persisted: world.sink.persisted.map(({ type }) => type) }
  })
  const cancel = { _tag: "Steer", wake: { type: "cancelled", by }, at: 0 } as const

  it.effect("rule X4: a turn whose events on disk are not those of its records has to be run", () =>
    Effect.gen(function* () {
      const turn = yield* waiting
      assert.isDefined(WaitingTurn.steer(turn, cancel))
      const { known, persisted } = turn
      assert.isUndefined(WaitingTurn.steer({ ...turn, persisted: [...persisted, "turn-end"] }, cancel))
      assert.isUndefined(WaitingTurn.steer({ ...turn, persisted: persisted.slice(1) }, cancel))
      assert.isUndefined(WaitingTurn.steer({ ...turn, persisted: persisted.toReversed() }, cancel))
      assert.isUndefined(WaitingTurn.steer({ ...turn, known: known.slice(0, 1) }, cancel), "a decision is due")
      assert.isUndefined(WaitingTurn.steer({ ...turn, known: [] }, cancel), "it calls")
      assert.isUndefined(
        WaitingTurn.steer({ ...turn, known: [...known, { name: "step/0/sleep/0", value: "{" }] }, cancel)
      )
      assert.isUndefined(WaitingTurn.steer({ ...turn, known: [...known, ...known] }, cancel), "it contradicts itself")
      assert.isDefined(WaitingTurn.steer({ ...turn, known: [...known, { name: "of another", value: "1" }] }, cancel))
    })
  )
})
