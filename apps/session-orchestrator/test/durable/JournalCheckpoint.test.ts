/** Tests a turn's records while their database fails, is slow or belongs to another process. */
import { assert, describe, it } from "@effect/vitest"
import { Records, TurnStopped } from "@holdfast/kernel"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import * as JournalCheckpoint from "../../src/durable/JournalCheckpoint.ts"
import { type Events, Journal, type Record } from "../../src/durable/Journal.ts"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import { StorageError, Store } from "../../src/storage/Store.ts"
import * as Given from "../storage/Given.ts"

const turnId = Given.turnId(1)

/** An append that fails stops the turn at once. */
const atOnce: JournalCheckpoint.Persist = (append) =>
  Effect.mapError(append, ({ message }) => new TurnStopped.TurnStopped({ message }))

const resume = (persist: JournalCheckpoint.Persist = atOnce) =>
  Effect.gen(function* () {
    yield* Effect.ignore(Given.oneTurn)
    const { checkpoint } = yield* JournalCheckpoint.make(yield* Journal, turnId, persist)
    return checkpoint
  })

const names = Effect.map(
  Effect.flatMap(Journal, (journal) => journal.load(turnId)),
  (records: ReadonlyArray<Record>) => records.map(({ name }) => name)
)

const failed = (contentSeen: boolean): Records.AttemptOutcome => ({
  _tag: "Failed",
  content: [],
  endedAt: 0,
  failure: { reason: "overloaded", message: "Overloaded", retryable: true },
  contentSeen,
  spread: 0
})

const count = (effects: { runs: number }) => Effect.sync(() => ++effects.runs)

describe("JournalCheckpoint", () => {
  it.effect("K1: an effect that has succeeded is not run again, in this life or the next", () =>
    Effect.gen(function* () {
      const effects = { runs: 0 }
      const first = yield* resume()
      assert.deepStrictEqual(first.known, [])
      assert.strictEqual(yield* first.run("a", Schema.Number, count(effects)), 1)
      const next = yield* resume()
      assert.deepStrictEqual(next.known, [{ name: "a", value: "1" }])
      assert.strictEqual(yield* next.run("a", Schema.Number, count(effects)), 1)
      assert.strictEqual(effects.runs, 1)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K5: the listener is called before an effect runs, and again when its record is on disk", () =>
    Effect.gen(function* () {
      yield* Effect.ignore(Given.oneTurn)
      const heard: Array<string> = []
      const disk = Deferred.makeUnsafe<void>()
      const make = Effect.flatMap(Journal, (journal) =>
        JournalCheckpoint.make(journal, turnId, (append) => Effect.andThen(Deferred.await(disk), atOnce(append)), {
          listener: {
            begins: (name) => heard.push(`begins ${name}`),
            recorded: ({ name, value }) => heard.push(`recorded ${name}: ${value}`)
          }
        })
      )
      const { checkpoint } = yield* make
      const run = Effect.sync(() => heard.push("runs"))
      const fiber = yield* Effect.forkChild(checkpoint.run("a", Schema.Number, run), { startImmediately: true })
      assert.deepStrictEqual(heard, ["begins a", "runs"])
      yield* Deferred.succeed(disk, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(heard.slice(2), ["recorded a: 2"])
      // The listener is not called for records of earlier lives.
      yield* (yield* make).checkpoint.run("a", Schema.Number, run)
      assert.strictEqual(heard.length, 3)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("a failure is not recorded", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      assert.strictEqual(yield* Effect.flip(checkpoint.run("a", Schema.Number, Effect.fail("no"))), "no")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect(
    "K2: a turn does not continue with a result whose record is refused, and its next life runs the effect again",
    () =>
      Effect.gen(function* () {
        const effects = { runs: 0 }
        const refused = new StorageError({ message: "disk full" })
        const first = yield* resume((append) => atOnce(Effect.andThen(Effect.fail(refused), append)))
        const error = yield* Effect.flip(first.run("a", Schema.Number, count(effects)))
        assert.strictEqual(error.message, "disk full")
        const next = yield* resume()
        assert.strictEqual(yield* next.run("a", Schema.Number, count(effects)), 2)
        assert.deepStrictEqual(yield* names, ["a"])
      }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K3: a record that waits for its disk keeps the following records waiting, so there is no gap", () =>
    Effect.gen(function* () {
      const isFull = yield* Deferred.make<void>()
      let isFirst = true
      const first = yield* resume((append) => {
        const held = isFirst ? Effect.andThen(Deferred.await(isFull), append) : append
        isFirst = false
        return atOnce(held)
      })
      const run = (name: string) =>
        Effect.forkChild(first.run(name, Schema.String, Effect.succeed(name)), { startImmediately: true })
      const slow = yield* run("slow")
      const quick = yield* run("quick")
      yield* Effect.repeat(Effect.yieldNow, { times: 100 })
      assert.deepStrictEqual(yield* names, [])
      // A process that starts now continues, and its numbers are free.
      const other = yield* resume()
      assert.strictEqual(yield* other.run("other", Schema.String, Effect.succeed("x")), "x")
      yield* Deferred.succeed(isFull, undefined)
      // The process that started first is not the owner any more.
      assert.isTrue(Exit.isFailure(yield* Fiber.await(slow)))
      assert.isTrue(Exit.isFailure(yield* Fiber.await(quick)))
      assert.deepStrictEqual(yield* names, ["other"])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("J2: of two processes that believe they run a turn one is stopped at its next record", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* resume(), yield* resume()]
      yield* one.run("a", Schema.Number, Effect.succeed(1))
      const error = yield* Effect.flip(other.run("b", Schema.Number, Effect.succeed(2)))
      assert.strictEqual(error._tag, "TurnStopped")
      assert.include(error.message, "being run elsewhere")
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("an interrupted effect leaves no record; an effect that has succeeded is recorded all the same", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const checkpoint = yield* resume((append) =>
        Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(Deferred.await(open), atOnce(append)))
      )
      const never = yield* Effect.forkChild(checkpoint.run("never", Schema.Number, Effect.never), {
        startImmediately: true
      })
      yield* Fiber.interrupt(never)
      const done = yield* Effect.forkChild(checkpoint.run("done", Schema.Number, Effect.succeed(1)), {
        startImmediately: true
      })
      yield* Deferred.await(reached)
      const ending = yield* Effect.forkChild(Fiber.interrupt(done), { startImmediately: true })
      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(ending)
      assert.deepStrictEqual(yield* names, ["done"])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("C10: a record that cannot be read is a counted defect, and does not count as missing", () =>
    Effect.gen(function* () {
      const effects = { runs: 0 }
      yield* Effect.flatMap(resume(), (first) => first.run("a", Schema.Number, Effect.succeed(1)))
      const next = yield* resume()
      const stopped = yield* Effect.flip(
        next.run("a", Schema.Struct({ other: Schema.String }), Effect.as(count(effects), { other: "" }))
      )
      assert.isTrue(stopped._tag === "TurnStopped" && stopped.defect)
      assert.strictEqual(effects.runs, 0)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("C10: a result that cannot be recorded is a counted defect", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      let deep: Schema.Json = []
      for (let level = 0; level < 20_000; level++) deep = [deep]
      const stopped = yield* Effect.flip(checkpoint.run("a", Schema.Json, Effect.succeed(deep)))
      assert.isTrue(stopped._tag === "TurnStopped" && stopped.defect)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K4: an attempt that failed before content is recorded with the decision about it, in their order", () =>
    Effect.gen(function* () {
      const appends = { runs: 0 }
      const checkpoint = yield* resume((append) => Effect.andThen(count(appends), atOnce(append)))
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed(false)))
      assert.deepStrictEqual(yield* names, [])
      yield* checkpoint.run("step/0/decision/0", Schema.Number, Effect.succeed(0))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0", "step/0/decision/0"])
      assert.strictEqual(appends.runs, 1)
      yield* checkpoint.run("step/0/sleep/0", Schema.Number, Effect.succeed(0))
      assert.strictEqual((yield* names).length, 3)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K4: an attempt that failed after content is on disk before the turn continues", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed(true)))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0"])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K4, A9: a whole response that is an invalid response is on disk before the turn continues", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      const outcome = { ...failed(false), whole: true } as const
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(outcome))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0"])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  const answered: Records.AttemptOutcome = { _tag: "Completed", content: [], endedAt: 0, finishReason: "stop" }
  const gaveUp = { _tag: "GiveUp", because: "exhausted" } as const
  const events: Events = { conversationId: Given.conversationId(1), events: [Given.end(1, 1)], position: 0 }

  const joined = (persist: JournalCheckpoint.Persist = atOnce, recorded: (name: string) => void = () => {}) =>
    Effect.gen(function* () {
      const store = yield* Store
      yield* Effect.ignore(Given.oneTurn)
      const listener = { begins: () => {}, recorded: ({ name }: Record) => recorded(name) }
      const journaled = yield* JournalCheckpoint.make(yield* Journal, turnId, persist, { listener, isJoined: true })
      const { conversationId, position } = events
      const alone = Effect.suspend(() => store.appendEvents(conversationId, turnId, events.events, position))
      const ends = Effect.map(store.turnEvents(turnId), (stored) => stored.length)
      return { ...journaled, write: journaled.carrying(events, alone), ends }
    })

  it.effect("K8: an answer is on disk with the events that follow from it, and the listener is called then", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const appends = { runs: 0 }
      const counting: JournalCheckpoint.Persist = (append) => Effect.andThen(count(appends), atOnce(append))
      const { checkpoint, ends, write } = yield* joined(counting, (name) => told.push(name))
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      assert.deepStrictEqual([yield* names, told, yield* ends], [[], [], 0])
      yield* write
      assert.deepStrictEqual([yield* names, told, yield* ends], [["step/0/attempt/0"], ["step/0/attempt/0"], 1])
      assert.strictEqual(appends.runs, 1)
      yield* checkpoint.run("a", Schema.Number, Effect.succeed(1))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0", "a"])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K8: the decision to give up is on disk with the failure before it and the events after it", () =>
    Effect.gen(function* () {
      const { checkpoint, ends, write } = yield* joined()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed(false)))
      yield* checkpoint.run("step/0/decision/0", Records.Directive, Effect.succeed(gaveUp))
      assert.deepStrictEqual([yield* names, yield* ends], [[], 0])
      yield* write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0", "step/0/decision/0"], 1])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K3, K8: an answer whose write is refused leaves no record and no gap", () =>
    Effect.gen(function* () {
      const refused = new StorageError({ message: "disk full" })
      const { checkpoint, ends, write } = yield* joined((append) =>
        atOnce(Effect.andThen(Effect.fail(refused), append))
      )
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      assert.strictEqual((yield* Effect.flip(write)).message, "disk full")
      assert.deepStrictEqual([yield* names, yield* ends], [[], 0])
      const next = yield* joined()
      yield* next.checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* next.write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0"], 1])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("K8: an answer that is written again, because its first result was lost, is stored once", () =>
    Effect.gen(function* () {
      const lost = new StorageError({ message: "the connection was lost" })
      const twice: JournalCheckpoint.Persist = (append) =>
        atOnce(Effect.catch(Effect.andThen(append, Effect.fail(lost)), () => append))
      const { checkpoint, ends, write } = yield* joined(twice)
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* write
      assert.deepStrictEqual([yield* names, yield* ends], [["step/0/attempt/0"], 1])
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )

  it.effect("J2, K8: when another process has written under an answer's number, none of the answer is written", () =>
    Effect.gen(function* () {
      const { checkpoint, ends, write } = yield* joined()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      yield* (yield* resume()).run("step/0/attempt/0", Schema.Number, Effect.succeed(1))
      assert.include((yield* Effect.flip(write)).message, "being run elsewhere")
      assert.strictEqual(yield* ends, 0)
    }).pipe(Effect.provide(SqlStore.layerMemory))
  )
})
