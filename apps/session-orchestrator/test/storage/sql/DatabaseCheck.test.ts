/** Tests which probes a crowd of callers causes, and which outcome the callers get. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as DatabaseCheck from "../../../src/storage/sql/DatabaseCheck.ts"

const LIMIT = Duration.millis(1500)

/** A database whose probes take so long, or fail. */
const database = (probe: (n: number) => Effect.Effect<void, string>) => {
  const state = { probes: 0, answers: 0 }
  const check = DatabaseCheck.make<string>({
    probe: () => Effect.suspend(() => probe(++state.probes)),
    limit: LIMIT,
    silence: () => "silent",
    answers: () => state.answers
  })
  return { check, state }
}

const forked = <A>(effect: Effect.Effect<A, string>) =>
  Effect.forkChild(Effect.exit(effect), { startImmediately: true })

describe("a check of the database", () => {
  it.effect(
    "DatabaseCheck.C1: callers that arrive during a probe get its outcome, and the next caller gets a new one",
    () =>
      Effect.gen(function* () {
        const { check, state } = database((n) => Effect.delay(n === 1 ? Effect.fail("away") : Effect.void, "1 second"))
        const crowd = yield* Effect.forEach(Array.from({ length: 500 }), () => forked(check))
        yield* TestClock.adjust("999 millis")
        assert.isUndefined(crowd[0]?.pollUnsafe())
        yield* TestClock.adjust("1 milli")
        for (const fiber of crowd) assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail("away"))
        assert.strictEqual(state.probes, 1)
        const next = yield* forked(check)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual([yield* Fiber.join(next), state.probes], [Exit.void, 2])
      })
  )

  it.effect("DatabaseCheck.C1: a caller that leaves takes no outcome from the others", () =>
    Effect.gen(function* () {
      const { check, state } = database(() => Effect.delay(Effect.void, "1 second"))
      const first = yield* forked(check)
      yield* TestClock.adjust("1 milli")
      const second = yield* forked(check)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([yield* Fiber.join(second), state.probes], [Exit.void, 1])
    })
  )

  it.effect(
    "DatabaseCheck.C2: a database that does not answer in time is away, unless it answered a commit meanwhile",
    () =>
      Effect.gen(function* () {
        const { check, state } = database(() => Effect.never)
        state.answers = 7
        const silent = yield* forked(check)
        yield* TestClock.adjust("1499 millis")
        assert.isUndefined(silent.pollUnsafe())
        yield* TestClock.adjust("1 milli")
        assert.deepStrictEqual(yield* Fiber.join(silent), Exit.fail("silent"))
        const busy = yield* forked(check)
        yield* TestClock.adjust("1 second")
        state.answers = 8
        yield* TestClock.adjust("500 millis")
        assert.deepStrictEqual(yield* Fiber.join(busy), Exit.void)
      })
  )

  it.effect("DatabaseCheck.C2: an error of the probe stays one, whatever else was committed", () =>
    Effect.gen(function* () {
      const { check, state } = database(() => Effect.delay(Effect.fail("read-only"), "1 second"))
      const fiber = yield* forked(check)
      yield* TestClock.adjust("500 millis")
      state.answers = 1
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail("read-only"))
    })
  )
})
