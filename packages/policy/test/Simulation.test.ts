import { describe, expect, it } from "@effect/vitest"
import { RetryPolicy, Simulation } from "../src/index.ts"
import { failure, HOUR, MINUTE, policyOf, SECOND, target } from "./routing/Rig.ts"

const overloaded = failure("overloaded", { status: 529 })
const primary = target("a/a")

/** Everything is down until then. */
const until =
  (ms: number): Simulation.Outage =>
  (_, at) =>
    at < ms ? overloaded : undefined

describe("Simulation", () => {
  it("D1: overnight against a dead endpoint makes 22 calls over 27,105 s, and its budget ends it", () => {
    const run = Simulation.run({ policy: policyOf({}), primary, outage: () => overloaded })
    expect(run).toMatchObject({ outcome: "failed", because: "budget", sleptMs: 27_105_000, endedAt: 27_105_000 })
    expect(run.calls).toHaveLength(22)
  })

  it("an outage that ends is answered by the first call after its end", () => {
    const run = Simulation.run({ policy: policyOf({}), primary, outage: until(HOUR) })
    expect(run.outcome).toBe("answered")
    expect(run.calls.at(-1)).toEqual({ at: 3_705_000, route: { target: primary } })
    expect(run.endedAt).toBe(3_705_000)
  })

  it("D2: the time of attempts counts by wall-clock, and passes", () => {
    const policy = policyOf({ measure: "wall-clock", budget: "1 minute" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded, attemptMs: 20 * SECOND })
    expect(run.calls.map(({ at }) => at)).toEqual([0, 25_000, 55_000])
    expect(run.because).toBe("budget")
  })

  it("P8: a chain goes to its stand-in, and what it found out is told", () => {
    const policy = policyOf({
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: ["b/b"] } }
    })
    const run = Simulation.run({
      policy,
      primary,
      outage: ({ target: { provider } }) => (provider === "a" ? overloaded : undefined)
    })
    expect(run.calls.map(({ route }) => route.target.provider)).toEqual(["a", "b"])
    expect(run.standing.targets["a/a"]?.pauses[0]?.until).toBe(5 * MINUTE)
  })

  it("X11: a reason that has spent its budget ends the step, whatever is left for others", () => {
    const policy = policyOf({ reasons: { "rate-limited": { budget: "2 minutes" } } })
    const limited = failure("rate-limited", { status: 429 })
    const run = Simulation.run({ policy, primary, outage: (_, __, n) => (n % 2 === 0 ? limited : overloaded) })
    // 5, 30, 300 s are what rate limits would wait: the third does not fit.
    expect(run).toMatchObject({ outcome: "failed", because: "budget of its reason", sleptMs: 105_000 })
    expect(run.calls).toHaveLength(5)
  })

  it("what has no end is stopped", () => {
    const policy = policyOf({ budget: "Infinity" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded, mostCalls: 50 })
    expect(run.outcome).toBe("endless")
    expect(run.calls).toHaveLength(50)
  })

  it("waits are those of the policy", () => {
    const policy = policyOf({ profile: "interactive" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded })
    const delays = run.calls.map(({ directive }) => (directive?._tag === "Retry" ? directive.delayMs : undefined))
    expect(delays).toEqual([0, 1, 2, 3].map((attempt) => RetryPolicy.delay(policy, attempt)))
  })
})
