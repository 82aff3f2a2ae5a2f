/** Compares the real waiting time of a turn with its waits and their schedule. */
import { assert, describe } from "@effect/vitest"
import { Property, ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { Wake } from "../src/ports/RetryStrategy.ts"

const { answer, overloaded } = ScriptedProvider

/** A wait: its decided delay, and the time after which a command ends it or moves its end. */
const wait = fc.record({
  delayMs: fc.integer({ min: 2, max: 10_000 }),
  command: fc.option(
    fc.record({
      type: fc.constantFrom("now" as const, "switched" as const, "until" as const, "extended" as const),
      share: fc.double({ min: 0, max: 0.99, noNaN: true }),
      laterMs: fc.nat(5_000)
    })
  ),
  tookMs: fc.constantFrom(0, 1, 700)
})
type Wait = typeof wait extends fc.Arbitrary<infer A> ? A : never

const heardAfter = ({ command, delayMs }: Wait): number => Math.floor(delayMs * (command?.share ?? 1))

/** How long a wait takes, counted by hand. */
const lengthOf = (one: Wait): number => {
  const { command, delayMs } = one
  switch (command?.type) {
    case "now":
    case "switched":
      return heardAfter(one)
    case "until":
      return heardAfter(one) + command.laterMs
    default:
      return delayMs
  }
}

const wakeOf = (type: NonNullable<Wait["command"]>["type"], until: number): Wake => {
  switch (type) {
    case "switched":
      return { type, target: { provider: "other", model: "m" } }
    case "until":
      return { type, until }
    case "extended":
      return { type, byMs: 1 }
    default:
      return { type: "now" }
  }
}

const settled = Effect.repeat(
  Effect.promise(() => new Promise(setImmediate)),
  { times: 2 }
)

const after = (ms: number) => Effect.andThen(TestClock.adjust(ms), settled)

const numberOf = (record: unknown, key: string): number =>
  typeof record === "object" && record !== null ? Number(Reflect.get(record, key)) : Number.NaN

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

/** Starts a turn whose attempts fail before each wait, and performs the waits. */
const through = (start: Scenario.Start, waits: ReadonlyArray<Wait>, options: Partial<Scenario.Options> = {}) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(0)
    const strategy = new TestStrategy.TestStrategy({ delays: waits.map(({ delayMs }) => delayMs) })
    const failures = waits.map(({ tookMs }) => {
      const script = ScriptedProvider.throws(overloaded)
      return { ...script, end: Effect.delay(script.end, tookMs) }
    })
    const run = yield* start({ scripts: [...failures, answer("ok")], strategy, ...options })
    let at = 0
    for (const one of waits) {
      yield* after(one.tookMs)
      at += one.tookMs
      const { command } = one
      if (command !== null) {
        yield* after(heardAfter(one))
        yield* strategy.wake(wakeOf(command.type, at + lengthOf(one)))
        yield* settled
      }
      yield* after(lengthOf(one) - (command === null ? 0 : heardAfter(one)))
      at += lengthOf(one)
    }
    return { ...run, strategy }
  })

for (const [how, start] of [
  ["", Scenario.straight],
  [" (run again after every record)", Scenario.replayed]
] as const) {
  describe(`time waited${how}`, () => {
    Property.prop(
      "rule D2: real waiting time is counted beside scheduled sleep, and is at most the time since the first failure",
      fc.array(wait, { minLength: 1, maxLength: 5 }),
      (waits) =>
        Effect.gen(function* () {
          const { fiber } = yield* through(start, waits)
          const end = yield* Fiber.join(fiber)
          assert.strictEqual(end.status, "completed")
          assert.strictEqual(end.waitedMs, sum(waits.map(lengthOf)))
          assert.strictEqual(end.sleptMs, sum(waits.map(({ delayMs }) => delayMs)))
          assert.isAtMost(end.waitedMs ?? Infinity, end.endedAt - (waits[0]?.tookMs ?? 0))
        }),
      { numRuns: 30 }
    )

    Property.prop(
      "rule D2, D8: a wait that an abort or a cancellation ends counts until then, and the schedule does not count it",
      fc.record({ before: fc.array(wait, { maxLength: 2 }), ms: fc.nat(9_999), cancels: fc.boolean() }),
      ({ before, cancels, ms }) =>
        Effect.gen(function* () {
          const abort = yield* Deferred.make<void>()
          const last = { delayMs: 10_000, command: null, tookMs: 0 }
          const all = [...before, last]
          const strategy = new TestStrategy.TestStrategy({ delays: all.map(({ delayMs }) => delayMs) })
          const scripts = [...all.map(() => ScriptedProvider.throws(overloaded)), answer("ok")]
          const { fiber } = yield* Effect.andThen(
            TestClock.setTime(0),
            start({ scripts, strategy, abort: Deferred.await(abort) })
          )
          yield* settled
          for (const { delayMs } of before) yield* after(delayMs)
          yield* after(ms)
          yield* cancels ? strategy.wake({ type: "cancelled" }) : Deferred.succeed(abort, undefined)
          const end = yield* Fiber.join(fiber)
          const scheduled = sum(before.map(({ delayMs }) => delayMs))
          assert.deepStrictEqual(
            [end.status, end.sleptMs, end.waitedMs],
            [cancels ? "failed" : "aborted", scheduled, scheduled + ms]
          )
        }),
      { numRuns: 20 }
    )
  })
}

Property.prop(
  "rule D2: the time waited is the sum over the records of waits",
  fc.array(wait, { minLength: 1, maxLength: 5 }),
  (waits) =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const { fiber } = yield* through(Scenario.replayed, waits, { replay })
      const end = yield* Fiber.join(fiber)
      const lengths = waits.map(({ delayMs }, n) => {
        const decision = replay.records.get(`step/0/decision/${n}`)
        const last = [...replay.records].findLast(([name]) => new RegExp(`/sleep/${n}(/|$)`).test(name))
        return numberOf(last?.[1], "at") - (numberOf(decision, "retryAt") - delayMs)
      })
      assert.strictEqual(end.waitedMs, sum(lengths))
    }),
  { numRuns: 20 }
)
