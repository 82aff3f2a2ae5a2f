/** Tests a turn's records while their database fails, is slow or belongs to another process. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { type AppendError, Journal } from "../src/Journal.ts"
import * as JournalCheckpoint from "../src/JournalCheckpoint.ts"
import * as MemoryJournal from "../src/MemoryJournal.ts"
import { StorageError } from "../src/StorageError.ts"
import { JournalSuite } from "../testing/index.ts"

const turnId = JournalSuite.turnId(1)

/** Does something around an append. */
type Around = (append: Effect.Effect<void, AppendError>) => Effect.Effect<void, AppendError>

const resume = (around: Around = (append) => append) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const known = yield* journal.load(turnId)
    return JournalCheckpoint.over({ append: (...append) => around(journal.append(...append)) }, turnId, known)
  })

const names = Effect.map(
  Effect.flatMap(Journal, (journal) => journal.load(turnId)),
  (records) => records.map(({ name }) => name)
)

const count = (effects: { runs: number }) => Effect.sync(() => ++effects.runs)

describe("JournalCheckpoint", () => {
  it.effect("JournalCheckpoint.K1: an effect that has succeeded is not run again, in this life or the next", () =>
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

  it.effect("a failure is not recorded", () =>
    Effect.gen(function* () {
      const checkpoint = yield* resume()
      assert.strictEqual(yield* Effect.flip(checkpoint.run("a", Schema.Number, Effect.fail("no"))), "no")
      assert.deepStrictEqual(yield* names, [])
    }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect(
    "JournalCheckpoint.K2: a turn does not continue with a result whose record is refused, and its next life runs the effect again",
    () =>
      Effect.gen(function* () {
        const effects = { runs: 0 }
        const refused = new StorageError({ message: "disk full" })
        const first = yield* resume((append) => Effect.andThen(Effect.fail(refused), append))
        const error = yield* Effect.flip(first.run("a", Schema.Number, count(effects)))
        assert.strictEqual(error.message, "disk full")
        const next = yield* resume()
        assert.strictEqual(yield* next.run("a", Schema.Number, count(effects)), 2)
        assert.deepStrictEqual(yield* names, ["a"])
      }).pipe(Effect.provide(MemoryJournal.layer))
  )

  it.effect("JournalCheckpoint.K2: a record that waits for its disk holds up the next ones, so there is no gap", () =>
    Effect.gen(function* () {
      const isFull = yield* Deferred.make<void>()
      let isFirst = true
      const first = yield* resume((append) => {
        const held = isFirst ? Effect.andThen(Deferred.await(isFull), append) : append
        isFirst = false
        return held
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

  it.effect("Journal.J2: of two processes that believe they run a turn one is stopped at its next record", () =>
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
        Effect.andThen(Deferred.succeed(reached, undefined), Effect.andThen(Deferred.await(open), append))
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

  it.effect(
    "JournalCheckpoint.K2: the number of a mark is used up, also when its turn is interrupted before the disk has answered",
    () =>
      Effect.gen(function* () {
        const written = yield* Deferred.make<void>()
        const answered = yield* Deferred.make<void>()
        const checkpoint = yield* resume((append) =>
          append.pipe(Effect.tap(Deferred.succeed(written, undefined)), Effect.tap(Deferred.await(answered)))
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
})
