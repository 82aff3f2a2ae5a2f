/**
 * Checks journal, parking and commands under random events: people, clocks, machines, in any order.
 *
 * Between two events the service comes to rest, or is caught in the middle of its work. Invariants at rest are checked there. The answer to
 * a command is compared with the disk at that moment, and sometimes the process dies right after the answer. In the end the provider
 * answers, the clock runs on, and every turn must be sealed.
 *
 * `HOLDFAST_MODEL_RUNS=5000` is the nightly form; `HOLDFAST_SEED` begins with a given seed.
 */
import { Interruption } from "@holdfast/journal"
import { assert, describe } from "@effect/vitest"
import { type Records, RetryStrategy } from "@holdfast/kernel"
import { Property } from "@holdfast/kernel/testing"
import { type Command, defined, Ids, type TurnEvent } from "@holdfast/wire"
import { Clock, Duration, Effect, Logger, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { type Attempt, memory, Rig } from "./Rig.ts"

// --- events

type Steer =
  | { readonly type: "retry-now" | "abort-retry" }
  | { readonly type: "wait-until"; readonly inMs: number }
  | { readonly type: "extend-budget" }
  | { readonly type: "switch-target" }

type Commanded =
  | { readonly type: "abort"; readonly of: number }
  | { readonly type: "steer"; readonly of: number; readonly steer: Steer; readonly commandId: string | undefined }

type Happening =
  | Commanded
  | { readonly type: "prompt" | "watch" | "unwatch"; readonly of: number }
  /** The process is killed as soon as the command is answered. */
  | { readonly type: "last words"; readonly command: Commanded; readonly awayMs: number }
  | { readonly type: "advance"; readonly ms: number }
  | { readonly type: "restart"; readonly crashes: boolean; readonly awayMs: number }
  | { readonly type: "together"; readonly all: ReadonlyArray<Happening> }

/** Whether the service comes to rest after it; otherwise so many turns of the event loop pass. */
interface Step {
  readonly happening: Happening
  readonly rest: boolean
  readonly turns: number
}

const CONVERSATIONS = 2
const of = fc.nat(CONVERSATIONS - 1)

const steer: fc.Arbitrary<Steer> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ type: "retry-now" } as const) },
  { weight: 1, arbitrary: fc.constant({ type: "abort-retry" } as const) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("wait-until" as const),
      inMs: fc.constantFrom(-1_000, 500, 4_000, 60_000)
    })
  },
  { weight: 1, arbitrary: fc.constant({ type: "extend-budget" } as const) },
  { weight: 1, arbitrary: fc.constant({ type: "switch-target" } as const) }
)

const abort: fc.Arbitrary<Commanded> = fc.record({ type: fc.constant("abort" as const), of })

const steering: fc.Arbitrary<Commanded> = fc.record({
  type: fc.constant("steer" as const),
  of,
  steer,
  // Few ids, so that some come again.
  commandId: fc.constantFrom(undefined, undefined, "k1", "k2", "k3")
})

const alone: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant("prompt" as const), of }) },
  { weight: 1, arbitrary: abort },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom("watch" as const, "unwatch" as const), of }) },
  { weight: 5, arbitrary: steering },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("last words" as const),
      command: fc.oneof({ weight: 1, arbitrary: abort }, { weight: 3, arbitrary: steering }),
      awayMs: fc.constantFrom(0, 700)
    })
  },
  {
    weight: 6,
    // After 7 s of a wait of 10 s, and after 27 s of one of 30 s, its turn is in memory again ahead of its time.
    arbitrary: fc.record({
      type: fc.constant("advance" as const),
      ms: fc.constantFrom(1, 500, 1_000, 7_000, 10_000, 27_000, 60_000)
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("restart" as const),
      crashes: fc.boolean(),
      awayMs: fc.constantFrom(0, 700, 20_000)
    })
  }
)

const step: fc.Arbitrary<Step> = fc.record({
  happening: fc.oneof(
    { weight: 4, arbitrary: alone },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("together" as const),
        all: fc.array(alone, { minLength: 2, maxLength: 3 })
      })
    }
  ),
  rest: fc.boolean(),
  turns: fc.nat(3)
})

const script: fc.Arbitrary<ReadonlyArray<Attempt>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Attempt>("fails", "fails late") },
    { weight: 3, arbitrary: fc.constantFrom<Attempt>("answers", "answers late") },
    { weight: 1, arbitrary: fc.constant<Attempt>("breaks") }
  ),
  { minLength: 1, maxLength: 6 }
)

// --- expected behaviour

/** The state of the conversations, as far as requests and their answers show it. */
class Model {
  readonly ids: ReadonlyArray<Ids.ConversationId>
  readonly rig: Rig
  /** Turns in the order of their acknowledgements. */
  readonly acknowledged = new Map<Ids.ConversationId, Array<Ids.TurnId>>()
  readonly aborts = new Map<Ids.ConversationId, number>()
  readonly cancellations = new Map<Ids.ConversationId, number>()
  /** Commands that are not answered yet. */
  asking = 0
  private prompts = 0
  private commands = 0

  constructor(rig: Rig, ids: ReadonlyArray<Ids.ConversationId>) {
    this.rig = rig
    this.ids = ids
    for (const id of ids) this.acknowledged.set(id, [])
  }

  id(of: number): Ids.ConversationId {
    return this.ids[of] ?? assert.fail("there is no such conversation")
  }

  perform(happening: Happening): Effect.Effect<void, unknown> {
    const { rig } = this
    switch (happening.type) {
      case "prompt": {
        const id = this.id(happening.of)
        const n = this.prompts++
        const turnId = Ids.TurnId.make(`t${n}`)
        // A turn without an id of its client may begin before it is accepted.
        const asked = n % 2 === 0 ? { prompt: turnId } : { prompt: turnId, turnId }
        return Effect.map(
          rig.ask((conversations) => conversations.prompt(id, asked)),
          (accepted) => void (accepted !== undefined && this.acknowledged.get(id)?.push(accepted))
        )
      }
      case "abort":
      case "steer":
        // The answer is not awaited: the next event may happen before it.
        return Effect.asVoid(Effect.forkDetach(this.command(happening), { startImmediately: true }))
      case "last words":
        return this.command(happening.command).pipe(
          Effect.andThen(rig.down(true)),
          Effect.andThen(TestClock.adjust(happening.awayMs)),
          Effect.andThen(rig.up)
        )
      case "watch":
        return rig.watch(this.id(happening.of))
      case "unwatch":
        return rig.unwatch(this.id(happening.of))
      case "advance":
        return TestClock.adjust(happening.ms)
      case "restart":
        return rig
          .down(happening.crashes)
          .pipe(Effect.andThen(TestClock.adjust(happening.awayMs)), Effect.andThen(rig.up))
      case "together": {
        // One process at a time.
        const isRestart = ({ type }: Happening) => type === "restart" || type === "last words"
        const first = happening.all.findIndex(isRestart)
        const all = happening.all.filter((one, i) => !isRestart(one) || i === first)
        return Effect.forEach(all, (one) => this.perform(one), { concurrency: "unbounded", discard: true })
      }
      default:
        return happening satisfies never
    }
  }

  /** Sends a command, and compares the answer with the disk at that moment. */
  private command(command: Commanded): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.asking++
      return Effect.orDie(command.type === "abort" ? this.abort(command.of) : this.steer(command))
    }).pipe(Effect.ensuring(Effect.sync(() => this.asking--)))
  }

  private abort(of: number): Effect.Effect<void, unknown> {
    return Effect.gen({ self: this }, function* () {
      const { rig } = this
      const id = this.id(of)
      this.aborts.set(id, (this.aborts.get(id) ?? 0) + 1)
      const head = (yield* rig.store.unsealedTurns).find(({ conversationId }) => conversationId === id)
      const isDone = yield* rig.ask((conversations) => inTime(conversations.abort(id)))
      if (isDone !== true || head === undefined) return
      const unsealed = (yield* rig.store.unsealedTurns).map(({ turnId }) => turnId)
      if (unsealed.includes(head.turnId)) rig.faults.push(`the abort of ${head.turnId} was answered before its seal`)
    })
  }

  private steer({
    of,
    steer,
    commandId
  }: Extract<Commanded, { readonly type: "steer" }>): Effect.Effect<void, unknown> {
    return Effect.gen({ self: this }, function* () {
      const { rig } = this
      const conversationId = this.id(of)
      const origin = `command ${this.commands++}`
      if (steer.type === "abort-retry") {
        this.cancellations.set(conversationId, (this.cancellations.get(conversationId) ?? 0) + 1)
      }
      const now = yield* Clock.currentTimeMillis
      const command = commandOf(steer, now, {
        conversationId,
        ...defined({ commandId: commandId === undefined ? undefined : Ids.CommandId.make(commandId) })
      })
      const isDone = yield* rig.ask((conversations) => inTime(conversations.steer(command, origin)))
      if (isDone !== true) return
      const wakes = yield* this.wakesOf(conversationId)
      const isRecorded = wakes.some(({ by }) => by?.origin === origin || by?.commandId === (commandId ?? ""))
      if (!isRecorded) rig.faults.push(`${origin} (${steer.type}) was answered before it was recorded`)
    })
  }

  /** The ends of all waits of a conversation, as they are on disk. */
  private wakesOf(id: Ids.ConversationId) {
    return Effect.gen({ self: this }, function* () {
      const { rig } = this
      const started = turnsWith(yield* eventsOf(rig, id), "turn-start")
      const records = yield* Effect.forEach(started, (turnId) => rig.journal.load(turnId))
      return records.flatMap(wakesOf)
    })
  }
}

/** A test clock that moves by a minute while a command is in progress gives the service no real time. */
const inTime = <A, E extends { readonly _tag: string }>(answer: Effect.Effect<A, E>) =>
  Effect.catchIf(
    answer,
    ({ _tag }) => _tag === "StorageError",
    () => Effect.succeed(undefined)
  )

const commandOf = (
  steer: Steer,
  now: number,
  common: Pick<Command.Steering, "conversationId" | "commandId">
): Command.Steering => {
  switch (steer.type) {
    case "wait-until":
      return { type: "wait-until", ...common, until: now + steer.inMs }
    case "extend-budget":
      return { type: "extend-budget", ...common, byMs: 1_000 }
    case "switch-target":
      return { type: "switch-target", ...common, model: "other/m" }
    default:
      return { type: steer.type, ...common }
  }
}

/** Lets the service do all work that needs no clock. */
const REST = 40

const turnsOfTheLoop = (count: number): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
  })

const eventsOf = (rig: Rig, id: Ids.ConversationId) =>
  Effect.map(Stream.runCollect(rig.store.events(id, 0)), (events) => Array.from(events))

type Events = Effect.Success<ReturnType<typeof eventsOf>>

const turnsWith = (events: Events, type: TurnEvent.PersistedEvent["type"]) =>
  events.flatMap(({ event }) => (event.type === type ? [event.turnId] : []))

/** The turns on disk, in the order of acceptance. A turn whose process went down may be there unacknowledged. */
const acceptedOf = Effect.fnUntraced(function* ({ acknowledged, rig }: Model, id: Ids.ConversationId, events: Events) {
  const unsealed = (yield* rig.store.unsealedTurns).filter(({ conversationId }) => conversationId === id)
  const accepted = [...turnsWith(events, "turn-end"), ...unsealed.map(({ turnId }) => turnId)]
  const acknowledgedTurns = acknowledged.get(id) ?? []
  assert.deepStrictEqual(
    accepted.filter((turnId) => acknowledgedTurns.includes(turnId)),
    acknowledgedTurns
  )
  return accepted
})

/** Whether a turn may run alone (rule X14). It or the others may have to wait for that, with the commands that have come for them. */
const isAnySuspectOf = (rig: Rig) =>
  Effect.map(rig.store.unsealedTurns, (turns) =>
    turns.some(({ interruption }) => (interruption?.deaths ?? 0) >= Interruption.SUSPECT)
  )

/** Checks the invariants of a service at rest. */
const assertAtRest = Effect.fnUntraced(function* (model: Model) {
  const { rig } = model
  assert.deepStrictEqual(rig.faults, [])
  const isAnySuspect = yield* isAnySuspectOf(rig)
  if (!isAnySuspect) assert.strictEqual(model.asking, 0)
  for (const id of model.ids) {
    const events = yield* eventsOf(rig, id)
    const accepted = yield* acceptedOf(model, id, events)
    const started = turnsWith(events, "turn-start")
    const sealed = turnsWith(events, "turn-end")
    assert.deepStrictEqual(
      events.map((event) => event.id),
      events.map((_, i) => i + 1)
    )
    // In the order of acceptance, one at a time, each once.
    assert.deepStrictEqual(started, accepted.slice(0, started.length))
    assert.deepStrictEqual(sealed, accepted.slice(0, sealed.length))
    assert.isAtMost(started.length - sealed.length, 1)

    const state = yield* rig.ask((conversations) => conversations.state(id))
    if (state === undefined) continue
    const [head, ...behind] = accepted.slice(sealed.length)
    assert.strictEqual(state.turnId, head)
    assert.deepStrictEqual(state.queued, behind)
    const isRunning = rig.isAnswering(id) || (state.status === "running" && isAnySuspect)
    // Rule D5: during a call that the gate has made early the wait goes on, and clients count to its end.
    const isEarly = rig.isAnswering(id) && state.status === "retrying" && state.retryAt !== undefined
    const status = head === undefined ? "idle" : isRunning && !isEarly ? "running" : "retrying"
    assert.strictEqual(state.status, status)
    assert.strictEqual(state.isRetrying, status === "retrying")

    const watcher = rig.watchers.get(id)
    if (watcher === undefined) continue
    assert.deepStrictEqual(watcher.faults, [])
    if (!rig.isWatching(id)) continue
    assert.deepStrictEqual(
      watcher.events,
      events.map(({ event }) => event)
    )
    if (status === "retrying") assert.strictEqual(watcher.retries.at(-1)?.retryAt, state.retryAt)
  }
})

/** The state that a command finds, and the state that it leaves, if nothing else happens meanwhile. */
const look = Effect.fnUntraced(function* ({ rig }: Model, id: Ids.ConversationId) {
  const state = yield* rig.ask((conversations) => conversations.state(id))
  const records = state?.turnId === undefined ? [] : yield* rig.journal.load(state.turnId)
  return {
    now: yield* Clock.currentTimeMillis,
    state,
    isAnySuspect: yield* isAnySuspectOf(rig),
    isCalling: rig.isAnswering(id),
    asked: rig.asked.filter(({ conversationId }) => conversationId === id).length,
    sealed: turnsWith(yield* eventsOf(rig, id), "turn-end"),
    taken: wakesOf(records).flatMap(({ by }) => (by === undefined ? [] : [by.commandId]))
  }
})

type Look = Effect.Success<ReturnType<typeof look>>

/** Rules X4, P14: a command has its effect, once, and at once. */
const assertDone = (happening: Happening, before: Look, after: Look): void => {
  const head = before.state?.turnId
  if (happening.type === "abort" && head !== undefined) assert.include(after.sealed, head)
  if (happening.type !== "steer" || head === undefined || before.isAnySuspect) return
  const { commandId, steer } = happening
  // During a call that the gate has made early the wait is shown, and its record has ended: a command for it comes too late.
  const isRetrying = before.state?.status === "retrying" && !before.isCalling
  const isKnown = commandId !== undefined && before.taken.includes(commandId)
  const isDue = (before.state?.retryAt ?? 0) <= before.now
  // After a restart a turn that is due waits for its place in the spread; a command brings it forward.
  if (isRetrying && isDue && (isKnown || steer.type === "extend-budget")) return
  if (!isRetrying || isKnown || steer.type === "extend-budget") {
    assert.strictEqual(after.asked, before.asked)
    assert.strictEqual(after.state?.retryAt, before.state?.retryAt)
  } else if (steer.type === "abort-retry") {
    assert.include(after.sealed, head)
  } else if (steer.type === "wait-until" && steer.inMs > 0) {
    assert.strictEqual(after.state?.retryAt, before.now + steer.inMs)
    assert.strictEqual(after.asked, before.asked)
  } else {
    assert.isAbove(after.asked, before.asked)
  }
}

const decodeWake = Schema.decodeUnknownOption(Schema.fromJsonString(RetryStrategy.Wake))

const wakesOf = (records: ReadonlyArray<Records.Stored>): ReadonlyArray<RetryStrategy.Wake> =>
  records.flatMap(({ name, value }) => (name.includes("/sleep/") ? Option.toArray(decodeWake(value)) : []))

/** Checks the invariants after the clock has run out. */
const assertSealed = Effect.fnUntraced(function* (model: Model) {
  const { rig } = model
  let attempts = 0
  for (const id of model.ids) {
    const events = yield* eventsOf(rig, id)
    const accepted = yield* acceptedOf(model, id, events)
    assert.deepStrictEqual(turnsWith(events, "turn-end"), accepted)
    const ends = events.flatMap(({ event }) => (event.type === "turn-end" ? [event] : []))
    attempts += ends.reduce((sum, end) => sum + end.attempts, 0)
    // Only turns with an abort command are aborted.
    assert.isAtMost(ends.filter(({ status }) => status === "aborted").length, model.aborts.get(id) ?? 0)
    for (const { event } of events) {
      if (event.type !== "retry-end" || event.finalError !== "Retry cancelled") continue
      assert.isAbove((model.cancellations.get(id) ?? 0) + (model.aborts.get(id) ?? 0), 0)
    }
    for (const end of ends) {
      // Rule X4: a command is in the record of a turn once.
      const wakes = wakesOf(yield* rig.journal.load(end.turnId))
      const commandIds = wakes.flatMap(({ by }) => (by === undefined ? [] : [by.commandId]))
      assert.deepStrictEqual(Array.from(new Set(commandIds)), commandIds)
      assert.deepStrictEqual((yield* rig.ask((conversations) => conversations.result(end.turnId)))?.end, end)
    }
  }
  assert.strictEqual(rig.taken.size, 0)
  // Rules C9, X1: one request per attempt, and at most one more per conversation for a death.
  assert.isAtLeast(rig.asked.length, attempts)
  assert.isAtMost(rig.asked.length, attempts + rig.deaths * CONVERSATIONS)
})

const isSealed = Effect.fnUntraced(function* (model: Model) {
  for (const id of model.ids) {
    const events = yield* eventsOf(model.rig, id)
    if (turnsWith(events, "turn-end").length < (yield* acceptedOf(model, id, events)).length) return false
  }
  return true
})

const seed = process.env["HOLDFAST_SEED"]
const seeded = seed === undefined ? undefined : { seed: Number(seed) }

/** Long enough for the nightly form. */
const NIGHT_MS = 600_000

/** More than the longest wait, and more often than the test has sent prompts. */
const RUN_OUT = { each: Duration.minutes(2), times: 60 }

describe("conversations under any order of events", () => {
  Property.prop(
    "rule X1, X4: each accepted turn is run in its order and sealed once, and all clients get the same events",
    // Without a gate, turns are read ahead of their time.
    fc.tuple(script, fc.boolean(), fc.array(step, { minLength: 1, maxLength: 25 })),
    ([script, isGated, steps]) =>
      Effect.gen(function* () {
        const rig = new Rig(yield* memory, script, isGated)
        yield* rig.up
        yield* Effect.addFinalizer(() => rig.down(true))
        const ids: Array<Ids.ConversationId> = []
        for (let n = 0; n < CONVERSATIONS; n++) {
          ids.push((yield* rig.ask((conversations) => conversations.create({}))) ?? assert.fail("it was not made"))
        }
        const model = new Model(rig, ids)
        let rested = true
        for (const { happening, rest, turns } of steps) {
          const id = rested && rest && "of" in happening ? model.id(happening.of) : undefined
          const before = id === undefined ? undefined : yield* look(model, id)
          yield* model.perform(happening)
          yield* turnsOfTheLoop(rest ? REST : turns)
          if (rest) yield* assertAtRest(model)
          if (id !== undefined && before !== undefined) assertDone(happening, before, yield* look(model, id))
          rested = rest
        }
        rig.calm()
        for (const id of ids) yield* rig.watch(id)
        yield* turnsOfTheLoop(REST)
        for (let n = 0; n < RUN_OUT.times && !(yield* isSealed(model)); n++) {
          yield* TestClock.adjust(RUN_OUT.each)
          yield* turnsOfTheLoop(REST)
        }
        yield* assertAtRest(model)
        yield* assertSealed(model)
      }).pipe(Effect.provide(Logger.layer([]))),
    { numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 60), ...seeded },
    NIGHT_MS
  )
})
