import { describe, expect, it } from "@effect/vitest"
import { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Duration, Schema } from "effect"
import { Basis, Profile, RetryPolicy, RetryStrategies } from "../src/index.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const spent = { sleptMs: 5_000, elapsedMs: 6_000, spread: 0.5 }

/** The recorded spending: the record of the attempt has the random draw. */
const { spread: _spread, ...spending } = spent

const basisOf = (
  policy: RetryPolicy.RetryPolicy,
  attempt: number,
  failure: Failure.Failure,
  spent: RetryStrategy.Spent
) => Basis.decided(policy, RetryPolicy.decide(policy, attempt, failure, spent), { failure, retries: attempt, spent })

/** The basis as it is read from a record. */
const recorded = (basis: unknown) => Schema.decodeUnknownSync(Schema.fromJsonString(Basis.Basis))(JSON.stringify(basis))

describe("Basis", () => {
  it("rule X9: has the numbers of a wait, the spending, and the limits in force", () => {
    const failure = { ...overloaded, hint: { retryAfterMs: 60_000, source: "retry-after" } }
    const policy = Profile.resolve({ jitter: { factor: 0.5 }, maxRetries: 9, maxDelay: Duration.hours(1) })
    expect(recorded(basisOf(policy, 1, failure, spent))).toEqual({
      _tag: "Delay",
      delayMs: 62_500,
      scheduledMs: 10_000,
      hintMs: 60_000,
      jitterMs: 2_500,
      spent: spending,
      limits: {
        schedule: "steps",
        measure: "scheduled",
        totalMs: 28_800_000,
        maxRetries: 9,
        maxDelayMs: 3_600_000
      }
    })
  })

  it("rule X5: records of a wait that its failure did not concern the endpoint; the usual case is not written", () => {
    const policy = Profile.resolve()
    const invalid: Failure.Failure = { reason: "invalid-response", message: "No JSON", retryable: true }
    expect(recorded(basisOf(policy, 0, invalid, spent))).toMatchObject({ _tag: "Delay", ofEndpoint: false })
    expect(recorded(basisOf(policy, 0, overloaded, spent))).not.toHaveProperty("ofEndpoint")
    expect(recorded(basisOf(Profile.resolve({ maxRetries: 0 }), 0, invalid, spent))).not.toHaveProperty("ofEndpoint")
  })

  it("rule X9: has whether a wait follows a hint that is older than its failure; no refusal has that", () => {
    const situation = { failure: overloaded, retries: 0, spent }
    const basisWith = (policy: RetryPolicy.RetryPolicy, isEarlier: boolean) =>
      recorded(Basis.decided(policy, RetryPolicy.decide(policy, 0, overloaded, spent), situation, [], isEarlier))
    const policy = Profile.resolve()
    expect(basisWith(policy, true)).toMatchObject({ _tag: "Delay", isEarlier: true })
    expect(basisWith(policy, false)).not.toHaveProperty("isEarlier")
    const refusing = basisWith(Profile.resolve({ maxRetries: 0 }), true)
    expect(refusing).toMatchObject({ _tag: "Refused" })
    expect(refusing).not.toHaveProperty("isEarlier")
  })

  it("rule X9: has the refused wait, and the reason", () => {
    const policy = Profile.resolve({ budget: Duration.seconds(10) })
    expect(recorded(basisOf(policy, 1, overloaded, spent))).toMatchObject({
      _tag: "Refused",
      because: "budget",
      delayMs: 10_000,
      limits: { totalMs: 10_000 }
    })
  })

  it("rule P15: records that retries were switched off", () => {
    expect(recorded(Basis.switchedOff(Profile.resolve(), spent))).toMatchObject({
      because: "switched-off",
      spent: spending
    })
  })

  it("is what a strategy records, and small: a turn that waits has one on disk", () => {
    const policy = Profile.resolve()
    const strategy = RetryStrategies.make(policy, () => {
      throw new Error("this test does not sleep")
    })
    const basis = RetryStrategy.decide(strategy, 1, overloaded, spent)?.basis
    expect(basis).toEqual(basisOf(policy, 1, overloaded, spent))
    expect(JSON.stringify(basis).length).toBeLessThan(192)
    expect(basis).not.toHaveProperty("jitterMs")
    expect(basis).not.toHaveProperty("clipped")
  })

  it("rule X9: records that a budget cut the wait, and the extension of that budget", () => {
    const policy = Profile.resolve({ budget: { total: Duration.seconds(12), clip: true } })
    expect(basisOf(policy, 1, overloaded, { ...spent, extendedMs: 1_000 })).toMatchObject({
      delayMs: 8_000,
      clipped: true,
      spent: { ...spending, extendedMs: 1_000 }
    })
  })

  it("rule X9: has jitter from the first millisecond, and no field without jitter", () => {
    const policy = Profile.resolve({ jitter: { factor: 0.5 } })
    expect(basisOf(policy, 0, overloaded, { ...spent, spread: 1 / 2_500 })).toMatchObject({
      delayMs: 5_001,
      jitterMs: 1
    })
    expect(basisOf(policy, 0, overloaded, { ...spent, spread: 0 })).not.toHaveProperty("jitterMs")
  })

  it("rule X9: has an extension of the budget from the first millisecond, and no field without one", () => {
    const of = (extendedMs: number) => basisOf(Profile.resolve(), 0, overloaded, { ...spent, extendedMs })
    expect(of(1).spent).toEqual({ ...spending, extendedMs: 1 })
    expect(of(0).spent).toEqual(spending)
  })

  it("rule X9: has the longest delay if there is one; 0 is none", () => {
    const limits = (maxDelayMs: number) => basisOf({ ...Profile.resolve(), maxDelayMs }, 0, overloaded, spent).limits
    expect(limits(0)).not.toHaveProperty("maxDelayMs")
    expect(limits(1)).toHaveProperty("maxDelayMs", 1)
  })

  it("rule X9: has the targets from two on; a single one is not recorded", () => {
    const of = (...targets: ReadonlyArray<string>) =>
      Basis.atOnce(
        Profile.resolve(),
        "other-credential",
        { failure: overloaded, spent },
        targets.map((target) => ({ target }))
      )
    expect(of("a/a")).not.toHaveProperty("ways")
    expect(of("a/a", "b/b").ways).toEqual([{ target: "a/a" }, { target: "b/b" }])
  })

  it("rule X9: records that a wait came from a rule for its reason", () => {
    const policy = Profile.resolve({ profile: "cycling" })
    const timeout: Failure.Failure = { reason: "timeout", message: "Timed out", retryable: true }
    expect(recorded(basisOf(policy, 0, timeout, spent))).toMatchObject({ byReason: true, limits: { maxRetries: 2 } })
    expect(recorded(basisOf(policy, 0, overloaded, spent))).not.toHaveProperty("byReason")
  })

  it("rule X11: has the spending on its reason, and the limits of the reason, if it has any", () => {
    const policy = Profile.resolve({ reasons: { overloaded: { budget: Duration.hours(1), maxRetries: 9 } } })
    const onReason = { retries: 2, sleptMs: 3_000, elapsedMs: 4_000 }
    const basis = basisOf(policy, 3, overloaded, { ...spent, onReason })
    expect(recorded(basis)).toEqual(basis)
    expect(basis).toMatchObject({ spent: { onReason }, limits: { onReason: { totalMs: 3_600_000, maxRetries: 9 } } })
    const other: Failure.Failure = { reason: "network", message: "reset", retryable: true }
    expect(basisOf(policy, 3, other, { ...spent, onReason })).toMatchObject({
      spent: spending,
      limits: { measure: "scheduled" }
    })
    expect(basisOf(policy, 3, other, { ...spent, onReason }).spent).not.toHaveProperty("onReason")
  })

  it("rule X9: records why there was no wait, and the targets", () => {
    const ways = [{ target: "a/a", until: 9_000 }, { target: "b/b" }]
    const basis = Basis.atOnce(Profile.resolve(), "other-target", { failure: overloaded, spent }, ways)
    expect(recorded(basis)).toEqual(basis)
    expect(basis).toMatchObject({ _tag: "AtOnce", routing: "fallback-chain", spent: spending, ways })
  })
})
