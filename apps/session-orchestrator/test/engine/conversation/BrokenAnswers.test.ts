/**
 * Answers that break off, under any order of cuts, clients that come and go, and deaths of the process (rule X7).
 *
 * One turn, its provider by a script, several clients. In the end the provider answers, every client reconnects, and the turn is sealed.
 *
 * `HOLDFAST_MODEL_RUNS=10000` is the nightly form; `HOLDFAST_SEED` begins with a given seed.
 */
import { assert, describe } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import type { Profile } from "@holdfast/policy"
import { Ids, Message, type TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Fiber, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { WatchingClient } from "../../service/WatchingClient.ts"
import { type Attempt, memory, Rig } from "./Rig.ts"

type Happening =
  | { readonly type: "watch" | "unwatch"; readonly client: number }
  | { readonly type: "advance"; readonly ms: number }
  | { readonly type: "restart"; readonly crashes: boolean }
  /** The process dies at a write that is still to come. */
  | { readonly type: "die"; readonly after: number; readonly isMade: boolean }

/** So many turns of the event loop pass after it: the service comes to rest, or is caught in the middle of its work. */
interface Step {
  readonly happening: Happening
  readonly turns: number
}

/** Clients that watch the conversation, and reconnect with their last id; the last one watches the turn, from its beginning each time. */
const CLIENTS = 3

const client = fc.nat(CLIENTS - 1)

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("watch" as const), client }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("unwatch" as const), client }) },
  {
    weight: 8,
    arbitrary: fc.record({ type: fc.constant("advance" as const), ms: fc.constantFrom(0, 399, 400, 401, 1_000, 7_000) })
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("restart" as const), crashes: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("die" as const), after: fc.nat(3), isMade: fc.boolean() })
  }
)

const step: fc.Arbitrary<Step> = fc.record({ happening, turns: fc.constantFrom(0, 1, 2, 3, 5, 40) })

const script: fc.Arbitrary<ReadonlyArray<Attempt>> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Attempt>("breaks", "breaks late", "calls and breaks") },
    { weight: 3, arbitrary: fc.constantFrom<Attempt>("calls", "fails", "answers late") }
  ),
  { minLength: 1, maxLength: 5 }
)

const plan = fc.record({
  midStream: fc.constantFrom<TurnEvent.MidStream | undefined>("fail", "discard", "unseen", "unseen", undefined),
  isSubmitted: fc.boolean(),
  isGated: fc.boolean(),
  script,
  steps: fc.array(step, { maxLength: 20 })
})

const MAX_RETRIES = 4

const retryOf = (midStream: TurnEvent.MidStream | undefined): Profile.RetrySettings => ({
  schedule: { type: "steps", delays: [Duration.millis(0), Duration.seconds(1), Duration.seconds(10)] },
  maxRetries: MAX_RETRIES,
  ...(midStream === undefined ? undefined : { midStream })
})

/** A client, with what was taken back from it. */
class Client {
  watcher = new WatchingClient()
  /** The messages of the steps that were void after it had received a part of their text. */
  readonly voided: Array<string> = []
  private readonly watchesTurn: boolean
  private fiber: Fiber.Fiber<void> | undefined = undefined

  constructor(watchesTurn: boolean) {
    this.watchesTurn = watchesTurn
  }

  /** Connects, unless it is connected. */
  connect(rig: Rig, id: Ids.ConversationId, turnId: Ids.TurnId): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.fiber !== undefined) return
      if (this.watchesTurn) {
        rig.faults.push(...this.watcher.faults)
        this.watcher = new WatchingClient()
      }
      const { watcher } = this
      const frames = (conversations: Conversations["Service"]) =>
        this.watchesTurn ? conversations.watchTurn(turnId, id) : conversations.watch(id, watcher.lastId)
      const reading = rig.ask((conversations) =>
        Effect.ignore(
          Stream.runForEach(frames(conversations), ({ event, id }) => Effect.sync(() => this.see(event, id)))
        )
      )
      this.fiber = yield* Effect.forkDetach(Effect.asVoid(reading), { startImmediately: true })
    })
  }

  leave(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { fiber } = this
      this.fiber = undefined
      return fiber === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(fiber))
    })
  }

  private see(event: TurnEvent.TurnEvent, id: number | undefined): void {
    if (event.type === "step-discarded" && this.watcher.current !== "") this.voided.push(event.message)
    this.watcher.see(event, id)
  }
}

const loop = (count: number): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
  })

const REST = 40

/** Runs the tool, and notes its calls. */
const toolsOf = (ran: Array<string>) => ({
  toolbox: Effect.succeed({
    definitions: [{ name: "pay", inputSchema: {} }],
    run: ({ toolCallId }: { readonly toolCallId: string }) =>
      Effect.sync(() => {
        ran.push(toolCallId)
        return { output: "paid", isError: false }
      })
  }),
  missing: () => [],
  isComplete: Effect.void,
  names: [],
  only: () => {
    throw new Error("no conversation chooses its tools")
  }
})

const textOf = ({ message }: TurnEvent.MessageEvent): string =>
  message.role === "assistant" ? Message.textOf(message) : ""

/** What the records of a turn allow (D4, X7, P3). */
const assertRecords = (records: ReadonlyArray<Records.Stored>, setting: TurnEvent.MidStream): number => {
  const retries = new Map<number, number>()
  let voided = 0
  for (const stored of records) {
    const record = Records.parse(stored)
    if (record?.kind !== "Decision") continue
    const { step, value } = record
    const attempt = records.find(({ name }) => name === Records.nameOf("Attempt", step, record.number))
    const outcome = attempt && Records.valueOf("Attempt", attempt)
    const hasContent = outcome?._tag === "Failed" && outcome.contentSeen
    const isUnseen = outcome?._tag === "Failed" && outcome.unseen === true
    const mayVoid = setting === "discard" || (setting === "unseen" && isUnseen)
    if (value._tag === "GiveUp") {
      // Every failure here is one of the transport.
      assert.strictEqual(value.because, hasContent && !mayVoid ? "after-content" : "exhausted")
      continue
    }
    // After an early attempt by the gate the wait of the same retry goes on (X5).
    if (value.resumes !== true) retries.set(step, (retries.get(step) ?? 0) + 1)
    assert.strictEqual(value.attempt, (retries.get(step) ?? 0) - 1)
    if (hasContent) {
      voided++
      assert.strictEqual(value.midStream, setting)
      assert.isTrue(mayVoid)
    } else assert.isUndefined(value.midStream)
  }
  for (const count of retries.values()) assert.isAtMost(count, MAX_RETRIES)
  return voided
}

const seed = process.env["HOLDFAST_SEED"]
const seeded = seed === undefined ? undefined : { seed: Number(seed) }

/** Long enough for the nightly form. */
const NIGHT_MS = 3_600_000

describe("answers that break off", () => {
  Property.prop(
    "rule X7: every client assembles what is on disk, with void text taken back, and no tool runs twice",
    plan,
    ({ isGated, isSubmitted, midStream, script, steps }) =>
      Effect.gen(function* () {
        const ran: Array<string> = []
        const rig = new Rig(yield* memory, script, isGated, { retry: retryOf(midStream), tools: toolsOf(ran) })
        yield* rig.up
        yield* Effect.addFinalizer(() => rig.down(true))
        const id = (yield* rig.ask((conversations) => conversations.create({}))) ?? assert.fail("it was not made")
        const turnId = Ids.TurnId.make("t1")
        const clients = Array.from({ length: CLIENTS }, (_, n) => new Client(n === CLIENTS - 1))
        const submit = rig.ask((conversations) => conversations.prompt(id, { prompt: "Hi", turnId, isSubmitted }))
        /** A process that has died is replaced, and its clients are disconnected. */
        const restart = (crashes: boolean) =>
          Effect.gen(function* () {
            rig.diesAt = undefined
            yield* rig.down(crashes)
            for (const client of clients) yield* client.leave()
            yield* rig.up
          })
        yield* submit
        for (const { happening, turns } of steps) {
          switch (happening.type) {
            case "watch":
              yield* clients[happening.client]?.connect(rig, id, turnId) ?? Effect.void
              break
            case "unwatch":
              yield* clients[happening.client]?.leave() ?? Effect.void
              break
            case "advance":
              yield* TestClock.adjust(happening.ms)
              break
            case "restart":
              yield* restart(happening.crashes)
              break
            case "die":
              rig.diesAt = { write: rig.writes + happening.after, isMade: happening.isMade }
              break
            default:
              happening satisfies never
          }
          yield* loop(turns)
          if (rig.isDying) yield* restart(true)
        }
        yield* loop(REST)
        if (rig.isDying) yield* restart(true)
        rig.diesAt = undefined
        rig.calm()
        for (const client of clients) yield* client.connect(rig, id, turnId)
        const readEvents = Effect.map(Stream.runCollect(rig.log.events(id, 0)), (events) =>
          Array.from(events, ({ event }) => event)
        )
        const sealed = Effect.map(readEvents, (events) => events.some(({ type }) => type === "turn-end"))
        for (let n = 0; n < 60 && !(yield* sealed); n++)
          yield* Effect.andThen(TestClock.adjust("5 seconds"), loop(REST))
        yield* loop(REST)
        // A client whose stream has ended, or broke off with its turn, comes back once more.
        for (const client of clients) {
          yield* client.leave()
          yield* client.connect(rig, id, turnId)
        }
        yield* loop(REST)

        const events = yield* readEvents
        assert.deepStrictEqual(rig.faults, [])
        assert.strictEqual(events.at(-1)?.type, "turn-end")
        const answers = events.flatMap((event) =>
          event.type === "message" && event.message.role === "assistant" ? [textOf(event)] : []
        )
        const setting = midStream ?? (isSubmitted ? "unseen" : "fail")
        for (const { voided, watcher } of clients) {
          assert.deepStrictEqual(watcher.faults, [])
          assert.deepStrictEqual(watcher.events, events)
          assert.deepStrictEqual(watcher.answers, answers)
          // No client loses text that it has, except by the death of a process (X2), or by `discard`.
          const taken = voided.filter((message) => !message.startsWith("Holdfast was restarted"))
          if (setting !== "discard") assert.deepStrictEqual(taken, [])
        }
        const voids = assertRecords(yield* rig.log.load(turnId), setting)
        const discarded = events.filter((event) => event.type === "step-discarded")
        assert.strictEqual(
          discarded.filter(({ message }) => !message.startsWith("Holdfast was restarted")).length,
          voids
        )
        // Rules C9, X1: one request per attempt, and at most one more for a death.
        const end = events.find((event) => event.type === "turn-end")
        assert.isAtLeast(rig.asked.length, end?.attempts ?? 0)
        assert.isAtMost(rig.asked.length, (end?.attempts ?? 0) + rig.deaths)
        // Rule X8, and tool calls of void attempts: each call runs at most once, and only if it is on disk.
        assert.strictEqual(new Set(ran).size, ran.length)
        const calls = events.flatMap((event) => (event.type === "tool-call" ? [event.toolCallId] : []))
        for (const call of ran) assert.include(calls, call)
      }).pipe(Effect.provide(Logger.layer([]))),
    { numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 40), ...seeded },
    NIGHT_MS
  )
})
