/** Tests a turn's records while their database fails, is slow or belongs to another process. */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Journal } from "../src/Journal.ts"
import * as JournalCheckpoint from "../src/JournalCheckpoint.ts"
import * as MemoryJournal from "../src/MemoryJournal.ts"
import { StorageError } from "../src/StorageError.ts"
import { JournalSuite } from "../testing/index.ts"

const turnId = JournalSuite.turnId(1)

const { stopping } = JournalCheckpoint

const resume = (persist: JournalCheckpoint.Persist = stopping) => JournalCheckpoint.load(turnId, { persist })

const names = Effect.map(
  Effect.flatMap(Journal, (journal) => journal.load(turnId)),
  (records) => records.map(({ name }) => name)
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
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("K5: the listener is called before an effect runs, and again when its record is on disk", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const disk = Deferred.makeUnsafe<void>()
      const load = JournalCheckpoint.load(turnId, {
        persist: (append) => Effect.andThen(Deferred.await(disk), stopping(append)),
        listener: {
          begins: (name) => calls.push(`begins ${name}`),
          recorded: ({ name, value }) => calls.push(`recorded ${name}: ${value}`)
        }
      })
      const checkpoint = yield* load
      const run = Effect.sync(() => calls.push("runs"))
      const fiber = yield* Effect.forkChild(checkpoint.run("a", Schema.Number, run), { startImmediately: true })
      assert.deepStrictEqual(calls, ["begins a", "runs"])
      yield* Deferred.succeed(disk, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(calls.slice(2), ["recorded a: 2"])
      // The listener is not called for records of earlier lives.
      yield* (yield* load).run("a", Schema.Number, run)
      assert.strictEqual(calls.length, 3)
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("a failure is not recorded", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      assert.strictEqual(yield* Effect.flip(checkpoint.run("a", Schema.Number, Effect.fail("no"))), "no")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect(
    "K2: a turn does not continue with a result whose record is refused, and its next life runs the effect again",
    () =>
      Effect.gen(function* () {
        const effects = { runs: 0 }
        const refused = new StorageError({ message: "disk full" })
        const first = yield* resume((append) => stopping(Effect.andThen(Effect.fail(refused), append)))
        const error = yield* Effect.flip(first.run("a", Schema.Number, count(effects)))
        assert.strictEqual(error.message, "disk full")
        const next = yield* resume()
        assert.strictEqual(yield* next.run("a", Schema.Number, count(effects)), 2)
        assert.deepStrictEqual(yield* names, ["a"])
      }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("K3: a record that waits for its disk keeps the following records waiting, so there is no gap", () =>
    Effect.gen(function* () {
      const isFull = yield* Deferred.make<void>()
      let isFirst = true
      const first = yield* resume((append) => {
        const held = isFirst ? Effect.andThen(Deferred.await(isFull), append) : append
        isFirst = false
        return stopping(held)
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
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("J2: of two processes that believe they run a turn one is stopped at its next record", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* resume(), yield* resume()]
      yield* one.run("a", Schema.Number, Effect.succeed(1))
      const error = yield* Effect.flip(other.run("b", Schema.Number, Effect.succeed(2)))
      assert.strictEqual(error._tag, "TurnStopped")
      assert.include(error.message, "being run elsewhere")
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("an interrupted effect leaves no record; an effect that has succeeded is recorded all the same", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const checkpoint = yield* resume((append) =>
        Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(Deferred.await(open), stopping(append)))
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
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("K3: the number of a mark is used up, also when its turn is interrupted before the disk has answered", () =>
    Effect.gen(function* () {
      const written = yield* Deferred.make<void>()
      const answered = yield* Deferred.make<void>()
      const checkpoint = yield* resume((append) =>
        stopping(append).pipe(Effect.tap(Deferred.succeed(written, undefined)), Effect.tap(Deferred.await(answered)))
      )
      const mark = checkpoint.mark?.("mark") ?? Effect.die("The checkpoint has no marks.")
      const marking = yield* Effect.forkChild(mark, { startImmediately: true })
      yield* Deferred.await(written)
      const ending = yield* Effect.forkChild(Fiber.interrupt(marking), { startImmediately: true })
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(ending)
      yield* checkpoint.run("next", Schema.Number, Effect.succeed(1))
      assert.deepStrictEqual(yield* names, ["mark", "next"])
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("rule C10: a record that cannot be read is a counted defect, and does not count as missing", () =>
    Effect.gen(function* () {
      const effects = { runs: 0 }
      yield* Effect.flatMap(resume(), (first) => first.run("a", Schema.Number, Effect.succeed(1)))
      const next = yield* resume()
      const stopped = yield* Effect.flip(
        next.run("a", Schema.Struct({ other: Schema.String }), Effect.as(count(effects), { other: "" }))
      )
      assert.isTrue(stopped._tag === "TurnStopped" && stopped.defect)
      assert.strictEqual(effects.runs, 0)
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("rule C10: a result that cannot be recorded is a counted defect", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      let deep: Schema.Json = []
      for (let level = 0; level < 20_000; level++) deep = [deep]
      const stopped = yield* Effect.flip(checkpoint.run("a", Schema.Json, Effect.succeed(deep)))
      assert.isTrue(stopped._tag === "TurnStopped" && stopped.defect)
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("K4: an attempt that failed before content is recorded with the decision about it, in their order", () =>
    Effect.gen(function* () {
      const appends = { runs: 0 }
      const checkpoint = yield* resume((append) => Effect.andThen(count(appends), stopping(append)))
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed(false)))
      assert.deepStrictEqual(yield* names, [])
      yield* checkpoint.run("step/0/decision/0", Schema.Number, Effect.succeed(0))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0", "step/0/decision/0"])
      assert.strictEqual(appends.runs, 1)
      yield* checkpoint.run("step/0/sleep/0", Schema.Number, Effect.succeed(0))
      assert.strictEqual((yield* names).length, 3)
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("K4: an attempt that failed after content is on disk before the turn continues", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(failed(true)))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0"])
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("rule A9: a whole response that is an invalid response is on disk before the turn continues", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      const outcome = { ...failed(false), whole: true } as const
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(outcome))
      assert.deepStrictEqual(yield* names, ["step/0/attempt/0"])
    }).pipe(Effect.provide(MemoryJournal.layer))
  )
})
