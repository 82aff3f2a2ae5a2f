import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as DatabaseWait from "../../src/sql/DatabaseWait.ts"

const isBusy = (error: string): boolean => error === "busy"

/** Fails with each error in turn, each after some time, and succeeds at last. */
const trying = (takes: Duration.Input, failures: ReadonlyArray<string>) => {
  const tries = { count: 0 }
  const effect = Effect.delay(
    Effect.suspend(() => {
      const failure = failures[tries.count++]
      return failure === undefined ? Effect.succeed("done") : Effect.fail(failure)
    }),
    takes
  )
  return { tries, effect }
}

const forever = Array.from({ length: 1_000 }, () => "busy")

describe("DatabaseWait", () => {
  it.effect("begins no try after the limit, whatever the length of each", () =>
    Effect.gen(function* () {
      for (const takes of [0, 50, 900, 1_700, 5_000]) {
        const { effect, tries } = trying(takes, forever)
        const begun = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const fiber = yield* Effect.forkChild(Effect.exit(DatabaseWait.whileBusy(isBusy)(effect)))
        yield* TestClock.adjust("1 minute")
        expect(yield* Fiber.join(fiber)).toEqual(Exit.fail("busy"))
        const each = takes + 100
        expect(tries.count).toBe(takes === 5_000 ? 1 + 1 : Math.ceil((5_000 - takes) / each) + 1)
        expect(begun).toBeGreaterThanOrEqual(0)
      }
    })
  )

  it.effect("retries only passing errors, and returns the final result", () =>
    Effect.gen(function* () {
      const other = trying(0, ["busy", "full"])
      const failing = yield* Effect.forkChild(Effect.exit(DatabaseWait.whileBusy(isBusy)(other.effect)))
      yield* TestClock.adjust("100 millis")
      expect(yield* Fiber.join(failing)).toEqual(Exit.fail("full"))
      const passing = trying(0, ["busy", "busy"])
      const fiber = yield* Effect.forkChild(DatabaseWait.whileBusy(isBusy)(passing.effect))
      yield* TestClock.adjust("199 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 milli")
      expect(yield* Fiber.join(fiber)).toBe("done")
      expect(passing.tries.count).toBe(3)
    })
  )

  const within = DatabaseWait.within(Duration.seconds(8), () => "silent")

  it.effect(
    "abandons an effect that does not end, also in an uninterruptible region, without waiting for its end",
    () =>
      Effect.gen(function* () {
        let isInterrupted = false
        const polite = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isInterrupted = true)))
        for (const frozen of [polite, Effect.uninterruptible(Effect.never)]) {
          const fiber = yield* Effect.forkChild(Effect.exit(Effect.uninterruptible(within(frozen))))
          yield* TestClock.adjust("7999 millis")
          expect(fiber.pollUnsafe()).toBeUndefined()
          yield* TestClock.adjust("1 milli")
          expect(yield* Fiber.join(fiber)).toEqual(Exit.fail("silent"))
        }
        expect(isInterrupted).toBe(true)
      })
  )

  it.effect(
    "returns the value, failure or defect of an effect that ends in time; an interrupted caller ends its effect",
    () =>
      Effect.gen(function* () {
        expect(yield* within(Effect.succeed(1))).toBe(1)
        expect(yield* Effect.exit(within(Effect.fail("no")))).toEqual(Exit.fail("no"))
        expect(yield* Effect.exit(within(Effect.die("bug")))).toEqual(Exit.die("bug"))
        let isInterrupted = false
        const work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isInterrupted = true)))
        const caller = yield* Effect.forkChild(within(work), { startImmediately: true })
        yield* TestClock.adjust("1 milli")
        yield* Fiber.interrupt(caller)
        yield* TestClock.adjust("1 milli")
        expect(isInterrupted).toBe(true)
      })
  )
})
