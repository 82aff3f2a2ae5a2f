import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as Retention from "../src/Retention.ts"
import { StorageError } from "../src/StorageError.ts"

const id = (n: number) => Ids.TurnId.make(`t-${n}`)

/** A journal of some batches that records its calls. */
const given = (batches: number) => {
  const asked: Array<{ readonly at: number; readonly sealedBefore: number; readonly after: string | undefined }> = []
  const broken = { storage: false }
  return {
    asked,
    broken,
    journal: {
      forget: (sealedBefore: number, after: Ids.TurnId | undefined) =>
        Effect.gen(function* () {
          const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          asked.push({ at, sealedBefore, after })
          if (broken.storage) return yield* new StorageError({ message: "The disk is full." })
          const batch = after === undefined ? 0 : Number(after.slice(2)) + 1
          return { forgotten: 1, next: batch < batches ? id(batch) : undefined }
        })
    }
  }
}

describe("Retention", () => {
  it.effect("goes through all journals at start, a batch at a time with a pause after each, and again every day", () =>
    Effect.gen(function* () {
      const { asked, journal } = given(2)
      yield* TestClock.setTime(Duration.toMillis("100 days"))
      const start = Duration.toMillis("100 days")
      yield* Effect.forkChild(Retention.run(journal, Duration.days(30)))
      yield* TestClock.adjust(0)
      expect(asked).toEqual([{ at: start, sealedBefore: Duration.toMillis("70 days"), after: undefined }])
      yield* TestClock.adjust("49 millis")
      expect(asked).toHaveLength(1)
      yield* TestClock.adjust("1 milli")
      expect(asked.map(({ after }) => after)).toEqual([undefined, id(0)])
      yield* TestClock.adjust("1 hour")
      expect(asked.map(({ after }) => after)).toEqual([undefined, id(0), id(1)])
      yield* TestClock.adjust("1 day")
      const next = asked.slice(3)
      expect(next.map(({ after }) => after)).toEqual([undefined, id(0), id(1)])
      expect((next[0]?.at ?? 0) - start).toBe(Duration.toMillis("1 day") + 2 * Duration.toMillis(Retention.PAUSE))
      expect((next[0]?.sealedBefore ?? 0) - (asked[0]?.sealedBefore ?? 0)).toBe((next[0]?.at ?? 0) - start)
    })
  )

  it.effect("a storage error ends one round", () =>
    Effect.gen(function* () {
      const { asked, broken, journal } = given(1)
      broken.storage = true
      yield* Effect.forkChild(Retention.run(journal, Duration.days(30)))
      yield* TestClock.adjust("1 hour")
      expect(asked).toHaveLength(1)
      broken.storage = false
      yield* TestClock.adjust("1 day")
      expect(asked).toHaveLength(3)
    })
  )

  it.effect("infinity keeps everything", () =>
    Effect.gen(function* () {
      const { asked, journal } = given(1)
      yield* Effect.forkChild(Retention.run(journal, Duration.infinity))
      yield* TestClock.adjust("10 days")
      expect(asked).toEqual([])
    })
  )

  it.effect("is in the log with how many it has deleted, or with why it has not, and not where there are none", () => {
    const said: Array<string> = []
    return Effect.gen(function* () {
      const { broken, journal } = given(2)
      yield* Effect.forkChild(Retention.run(journal, Duration.days(30)))
      yield* TestClock.adjust("1 hour")
      expect(said.splice(0)).toEqual(["Info Deleted the journals of 3 turn(s) that ended long ago."])
      broken.storage = true
      yield* TestClock.adjust("1 day")
      expect(said.splice(0)).toEqual(["Warn Old journals are kept for now. The disk is full."])
      const one = { forget: () => Effect.succeed({ forgotten: 1, next: undefined }) }
      const fiber = yield* Effect.forkChild(Retention.run(one, Duration.days(30)))
      yield* TestClock.adjust("1 hour")
      expect(said.splice(0)).toEqual(["Info Deleted the journals of 1 turn(s) that ended long ago."])
      yield* Fiber.interrupt(fiber)
      const nothing = { forget: () => Effect.succeed({ forgotten: 0, next: undefined }) }
      yield* Effect.forkChild(Retention.run(nothing, Duration.days(30)))
      yield* TestClock.adjust("1 hour")
      expect(said).toEqual([])
    }).pipe(
      Effect.provide(
        Logger.layer([Logger.make(({ logLevel, message }) => void said.push(`${logLevel} ${String(message)}`))])
      )
    )
  })
})
