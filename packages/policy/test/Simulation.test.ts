import { describe, expect, it } from "@effect/vitest"
import { RetryPolicy, Standing } from "../src/index.ts"
import * as Simulation from "../src/simulation/Simulation.ts"
import { failure, HOUR, MINUTE, policyOf, SECOND, target } from "./routing/RoutedStep.ts"

const overloaded = failure("overloaded", { status: 529 })
const primary = target("a/a")

/** An outage of every target until a moment. */
const until =
  (ms: number): Simulation.OutagePlan =>
  (_, at) =>
    at < ms ? overloaded : undefined

describe("Simulation", () => {
  it("rule D1: overnight against a dead endpoint makes 22 calls over 27,105 s, and its budget ends it", () => {
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

  it("rule D2: the time of attempts counts by wall-clock, and passes", () => {
    const policy = policyOf({ measure: "wall-clock", budget: "1 minute" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded, attemptMs: 20 * SECOND })
    expect(run.calls.map(({ at }) => at)).toEqual([0, 25_000, 55_000])
    expect(run.because).toBe("budget")
  })

  it("rule P8: a chain switches to its fallback, and its findings are returned", () => {
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

  it("rule X11: a reason that has spent its budget ends the step, whatever the rest of the others", () => {
    const policy = policyOf({ reasons: { "rate-limited": { budget: "2 minutes" } } })
    const limited = failure("rate-limited", { status: 429 })
    const run = Simulation.run({ policy, primary, outage: (_, __, n) => (n % 2 === 0 ? limited : overloaded) })
    // 5, 30, 300 s are what rate limits would wait: the third does not fit.
    expect(run).toMatchObject({ outcome: "failed", because: "budget of its reason", sleptMs: 105_000 })
    expect(run.calls).toHaveLength(5)
  })

  it("an endless step is stopped", () => {
    const policy = policyOf({ budget: "Infinity" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded, mostCalls: 50 })
    expect(run.outcome).toBe("endless")
    expect(run.calls).toHaveLength(50)
  })

  it("an endless step is stopped after 1,000 calls by default", () => {
    expect(
      Simulation.run({ policy: policyOf({ budget: "Infinity" }), primary, outage: () => overloaded })
    ).toMatchObject({ outcome: "endless", calls: { length: 1_000 } })
  })

  it("rule P9: begins at moment 0, at the target that is free then", () => {
    const policy = policyOf({ routing: { type: "fallback-chain", chains: { default: ["b/b"] } } })
    const beginsAt = (until: number) => {
      const standing = Standing.paused(Standing.target(primary), { until, reason: "overloaded", retryable: true })
      const run = Simulation.run({ policy, primary, outage: () => undefined, standing })
      expect(run).toMatchObject({ sleptMs: 0, endedAt: 0 })
      return run.calls.map(({ at, route }) => [at, route.target.provider])
    }
    expect(beginsAt(0)).toEqual([[0, "a"]])
    expect(beginsAt(1)).toEqual([[0, "b"]])
  })

  it("has a request without tokens: it fits a window of any size, even 0", () => {
    const policy = policyOf({ profile: "cycling", routing: { type: "round-robin", targets: ["a/a", "b/b"] } })
    const outage: Simulation.OutagePlan = ({ target: { provider } }) =>
      provider === "a" ? failure("auth", { status: 401 }) : undefined
    const run = Simulation.run({ policy, primary, outage, models: { "b/b": { contextWindow: 0 } } })
    expect(run.calls.map(({ route }) => route.target.provider)).toEqual(["a", "b"])
  })

  it("rule A5: the state of a cycle is passed on from call to call", () => {
    const policy = policyOf({ profile: "cycling", routing: { type: "round-robin", targets: ["a/a", "b/b"] } })
    const limited = failure("rate-limited", { status: 429 })
    const run = Simulation.run({ policy, primary, outage: (_, __, n) => (n < 2 ? limited : undefined) })
    expect(run.calls.map(({ at, route }) => [at > 0, route.target.provider])).toEqual([
      [false, "a"],
      [false, "b"],
      [true, "a"]
    ])
  })

  it("rule C12: a success ends the pauses of its target that were known when the call began", () => {
    const known = Standing.paused(Standing.target(primary), {
      until: 100 * HOUR,
      reason: "overloaded",
      retryable: true,
      since: 0
    })
    const run = Simulation.run({ policy: policyOf({}), primary, outage: () => undefined, standing: known })
    expect(Standing.of(run.standing, Standing.target(primary), 0)).toBeUndefined()
  })

  it("rule D9: its waits have no jitter", () => {
    const runOf = (settings: object) => Simulation.run({ policy: policyOf(settings), primary, outage: until(HOUR) })
    expect(runOf({ jitter: { factor: 0.5 } }).calls.map(({ at }) => at)).toEqual(runOf({}).calls.map(({ at }) => at))
  })

  it("waits are those of the policy", () => {
    const policy = policyOf({ profile: "interactive" })
    const run = Simulation.run({ policy, primary, outage: () => overloaded })
    const delays = run.calls.map(({ directive }) => (directive?._tag === "Retry" ? directive.delayMs : undefined))
    expect(delays).toEqual([0, 1, 2, 3].map((attempt) => RetryPolicy.delay(policy, attempt)))
  })
})
