import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { Backoff, RetryPolicy, WaitRules } from "../src/index.ts"
import { asking, failure, policyOf } from "./routing/RoutedStep.ts"

const rules = (reasons: WaitRules.ReasonWaits, over: Partial<WaitRules.WaitRules> = {}): WaitRules.WaitRules => ({
  schedule: Backoff.interactive,
  reasons,
  hints: true,
  ...over
})

describe("WaitRules", () => {
  it("rule P4, P5: without a rule of its own a reason has the schedule, lengthened by a hint", () => {
    expect(WaitRules.of(rules({}), 1, failure("network"))).toEqual({ ms: 4_000, scheduledMs: 4_000 })
    expect(WaitRules.of(rules({}), 1, asking("network", 9_000))).toEqual({
      ms: 9_000,
      scheduledMs: 4_000,
      hintMs: 9_000
    })
    expect(WaitRules.of(rules({}), 1, asking("network", 1_000)).ms).toBe(4_000)
  })

  it("rule X11: one reason has a schedule of its own, and the others keep the policy's", () => {
    const own = rules({ network: { schedule: Backoff.linear(100, 0) } })
    expect(WaitRules.of(own, 5, failure("network")).ms).toBe(100)
    expect(WaitRules.of(own, 0, failure("timeout")).ms).toBe(2_000)
  })

  it("rule A6: a hint can replace the schedule, within bounds, and at least a second", () => {
    const replaced = (ms: number, over: WaitRules.ReasonWait = {}) =>
      WaitRules.of(rules({ "rate-limited": { hint: "replace", ...over } }), 3, asking("rate-limited", ms)).ms
    expect(replaced(3_000)).toBe(3_000)
    expect(replaced(1)).toBe(1_000)
    expect(replaced(1, { leastMs: 100 })).toBe(100)
    expect(replaced(90_000, { mostMs: 60_000 })).toBe(60_000)
  })

  it("rule P5: a hint that is ignored, or whose policy follows none, changes nothing", () => {
    const hinted = asking("network", 60_000)
    expect(WaitRules.of(rules({ network: { hint: "ignore" } }), 0, hinted)).toEqual({ ms: 2_000, scheduledMs: 2_000 })
    expect(WaitRules.of(rules({ network: { hint: "replace" } }, { hints: false }), 0, hinted).ms).toBe(2_000)
  })

  it("rule A7: a rule without a wait applies only if the number of retries is limited", () => {
    const none = rules({ "invalid-response": { schedule: "none" } })
    expect(WaitRules.of({ ...none, maxRetries: 3 }, 0, failure("invalid-response")).ms).toBe(0)
    expect(WaitRules.of(none, 0, failure("invalid-response")).ms).toBe(2_000)
    const ownLimit = rules({ "invalid-response": { schedule: "none", maxRetries: 3 } })
    expect(WaitRules.of(ownLimit, 0, failure("invalid-response")).ms).toBe(0)
  })

  it("rule X11: the policy's limits hold for waits by reason too", () => {
    const policy = policyOf({
      profile: "interactive",
      reasons: { network: { schedule: { type: "linear", base: "10 minutes" } } }
    })
    expect(RetryPolicy.decide(policy, 0, failure("network"))).toMatchObject({ because: "max-delay", delayMs: 600_000 })
    expect(RetryPolicy.delay(policy, 0, failure("timeout"))).toBe(2_000)
  })

  it("rule A15: a wait is finite and never negative, for any rule and hint", () => {
    const bound = fc.nat(100_000)
    const rule: fc.Arbitrary<WaitRules.ReasonWait> = fc.record(
      {
        schedule: fc.constantFrom<Backoff.Schedule | "none">("none", Backoff.overnight, Backoff.exponential(1, 10)),
        hint: fc.constantFrom("lengthen", "replace", "ignore"),
        leastMs: bound,
        mostMs: bound.map((ms) => ms + 100_000)
      },
      { requiredKeys: [] }
    )
    const hint = fc.oneof(fc.nat(), fc.double(), fc.constantFrom(Number.NaN, Infinity, -1))
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...Failure.Reason.literals), rule),
        fc.constantFrom(...Failure.Reason.literals),
        fc.nat(2_000),
        hint,
        fc.boolean(),
        (reasons, reason, attempt, ms, isLimited) => {
          const wait = WaitRules.of(rules(reasons, isLimited ? { maxRetries: 3 } : {}), attempt, asking(reason, ms))
          expect(Number.isFinite(wait.ms)).toBe(true)
          expect(wait.ms).toBeGreaterThanOrEqual(reasons[reason]?.leastMs ?? 0)
          expect(wait.ms).toBeLessThanOrEqual(reasons[reason]?.mostMs ?? Infinity)
        }
      ),
      { numRuns: 3_000 }
    )
  })
})
