/** Compares the spending that a strategy receives with the course of the step. */
import { assert } from "@effect/vitest"
import { Property, Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { RetryStrategy, Spent } from "../src/ports/RetryStrategy.ts"

const { answer, badGateway, overloaded } = ScriptedProvider

/** A failure, the time of its attempt, and the sleep after it. */
const failedTry = fc.record({
  failure: fc.constantFrom(overloaded, badGateway, { ...badGateway, reason: "timeout" as const }),
  tookMs: fc.constantFrom(0, 1, 25),
  delayMs: fc.constantFrom(1, 20, 300)
})
type FailedTry = typeof failedTry extends fc.Arbitrary<infer A> ? A : never

/** Runs a step through failures, and returns the spending that the strategy received at each. */
const spendingOver = (start: Scenario.Start, tries: ReadonlyArray<FailedTry>) =>
  Effect.gen(function* () {
    const told = new Map<number, Spent | undefined>()
    const service: RetryStrategy["Service"] = {
      budget: { measure: "scheduled" },
      delayFor: () => undefined,
      decide: (attempt, _, spent) => {
        told.set(attempt, spent)
        return { delay: Duration.millis(tries[attempt]?.delayMs ?? 0) }
      },
      sleep: (delay) => Effect.as(Effect.sleep(delay), { type: "elapsed" })
    }
    const scripts = tries.map(({ failure, tookMs }) => {
      const script = ScriptedProvider.throws(failure)
      return { ...script, end: Effect.delay(script.end, tookMs) }
    })
    const { fiber, sink } = yield* start({ scripts: [...scripts, answer("ok")], strategy: { service } })
    // Everything due at the end of a wait runs before the next wait begins: times are compared.
    for (const ms of tries.flatMap(({ delayMs, tookMs }) => [tookMs, delayMs])) {
      yield* settled
      yield* TestClock.adjust(ms)
    }
    yield* settled
    return { told, end: yield* Fiber.join(fiber), sink }
  })

const settled = Effect.repeat(
  Effect.promise(() => new Promise(setImmediate)),
  { times: 2 }
)

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

/** The same, counted by hand. */
const expected = (tries: ReadonlyArray<FailedTry>) => {
  let at = 0
  const failures = tries.map(({ delayMs, failure: { reason }, tookMs }) => {
    const failedAt = at + tookMs
    at = failedAt + delayMs
    return { failedAt, delayMs, reason }
  })
  return failures.map(({ failedAt, reason }, i) => {
    const earlier = failures.slice(0, i)
    const alike = earlier.filter((one) => one.reason === reason)
    return {
      sleptMs: sum(earlier.map(({ delayMs }) => delayMs)),
      elapsedMs: failedAt - (failures[0]?.failedAt ?? 0),
      extendedMs: 0,
      onReason: {
        retries: alike.length,
        sleptMs: sum(alike.map(({ delayMs }) => delayMs)),
        elapsedMs: failedAt - (alike[0]?.failedAt ?? failedAt)
      }
    }
  })
}

for (const [how, start] of [
  ["", Scenario.straight],
  [" (run again after every record)", Scenario.replayed]
] as const) {
  Property.prop(
    `rule D2, X11: a strategy receives the step's sleep and time, in total and for the reason of the failure${how}`,
    fc.array(failedTry, { maxLength: 6 }),
    (tries) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(0)
        const { end, sink, told } = yield* spendingOver(start, tries)
        const spent = tries.map((_, attempt) => {
          const { spread, ...rest } = told.get(attempt) ?? assert.fail(`nothing was asked about ${attempt}`)
          assert.isTrue(spread >= 0 && spread < 1)
          return rest
        })
        assert.deepStrictEqual<unknown>(spent, expected(tries))
        assert.strictEqual(end.sleptMs, sum(tries.map(({ delayMs }) => delayMs)))
        assert.deepStrictEqual([...new Set(sink.of("provider-retry").map(({ attempt }) => attempt))], [...tries.keys()])
      }),
    { numRuns: 30 }
  )
}
