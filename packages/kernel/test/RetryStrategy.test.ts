/** A strategy of `delayFor`, `sleep` and `budget` alone. */
import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import * as RetryStrategy from "../src/ports/RetryStrategy.ts"

const { bothWays, settle } = Scenario
const { answer, emits, overloaded } = ScriptedProvider

const strategyOf = (
  delays: ReadonlyArray<number>,
  budget: RetryStrategy.Budget
): RetryStrategy.RetryStrategy["Service"] => ({
  delayFor: (attempt) => Duration.fromInputUnsafe(delays[attempt] ?? 60_000),
  sleep: (delay) => Effect.sleep(delay),
  budget
})

describe("a strategy without a decision of its own", () => {
  bothWays("rule D1: the kernel waits as `delayFor` returns, and a sleep without a result has elapsed", (start) =>
    Effect.gen(function* () {
      // The second wait just fits.
      const service = strategyOf([5_000, 10_000], { measure: "scheduled", totalMs: 15_000 })
      const run = yield* start({ scripts: [emits(overloaded), emits(overloaded), answer("ok")], strategy: { service } })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(end.sleptMs, 15_000)
    })
  )

  bothWays("rule D7: a wait that does not fit into its budget ends the turn with the last error", (start) =>
    Effect.gen(function* () {
      const service = strategyOf([5_000, 10_000], { measure: "scheduled", totalMs: 14_999 })
      const run = yield* start({ scripts: [emits(overloaded), emits(overloaded)], strategy: { service } })
      const end = yield* settle(run)
      assert.strictEqual(end.status, "failed")
      assert.strictEqual(end.sleptMs, 5_000)
      assert.strictEqual(end.error?.message, overloaded.message)
    })
  )

  it("rule D2: it retries exactly while there is a delay, a retry is left, and the wait fits into the rest of the budget", () => {
    const amount = fc.nat(60_000)
    fc.assert(
      fc.property(
        fc.record({
          delayMs: fc.option(amount, { nil: undefined }),
          totalMs: fc.option(amount, { nil: undefined }),
          maxRetries: fc.option(fc.nat(3), { nil: undefined }),
          measure: fc.constantFrom("scheduled", "wall-clock"),
          attempt: fc.nat(4),
          sleptMs: amount,
          elapsedMs: amount
        }),
        ({ attempt, delayMs, elapsedMs, maxRetries, measure, sleptMs, totalMs }) => {
          const decision = RetryStrategy.decide(
            {
              delayFor: () => (delayMs === undefined ? undefined : Duration.millis(delayMs)),
              budget: {
                measure,
                ...(totalMs === undefined ? {} : { totalMs }),
                ...(maxRetries === undefined ? {} : { maxRetries })
              }
            },
            attempt,
            overloaded,
            { sleptMs, elapsedMs, spread: 0 }
          )
          const usedMs = measure === "scheduled" ? sleptMs : elapsedMs
          const fits =
            delayMs !== undefined && attempt < (maxRetries ?? Infinity) && usedMs + delayMs <= (totalMs ?? Infinity)
          assert.deepStrictEqual(decision, fits ? { delay: Duration.millis(delayMs) } : undefined)
        }
      )
    )
  })
})
