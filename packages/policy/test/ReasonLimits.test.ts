import { describe, expect, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { Spending } from "@holdfast/kernel/host"
import { defined, type Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { Backoff, Budget, Profile, RetryPolicy } from "../src/index.ts"
import { asking, failure, HOUR, MINUTE, policyOf } from "./routing/RoutedStep.ts"

const spent = (onReason: Partial<RetryStrategy.SpentOnReason>, over: Partial<RetryStrategy.Spent> = {}) => ({
  sleptMs: HOUR,
  elapsedMs: HOUR,
  spread: 0,
  onReason: { retries: 0, sleptMs: 0, elapsedMs: 0, ...onReason },
  ...over
})

describe("the limits of a reason", () => {
  const own = policyOf({ reasons: { "rate-limited": { budget: "10 minutes", maxRetries: 4 } } })

  it("rule X11: end the step when failures of that reason reach them, and do not affect other reasons", () => {
    const tooMuch = spent({ sleptMs: 10 * MINUTE })
    expect(RetryPolicy.decide(own, 0, failure("rate-limited"), tooMuch)).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "budget", delayMs: 5_000, byReason: true })
    )
    expect(RetryPolicy.delay(own, 0, failure("overloaded"), tooMuch)).toBe(5_000)
    const tooMany = spent({ retries: 4 })
    expect(RetryPolicy.decide(own, 9, failure("rate-limited"), tooMany)).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "max-retries", byReason: true })
    )
    expect(RetryPolicy.delay(own, 9, failure("overloaded"), tooMany)).toBe(30 * MINUTE)
  })

  it("rule X11: hold for a retry without a wait too", () => {
    const limited = failure("rate-limited")
    expect(RetryPolicy.refusal(own, 1, limited, spent({ retries: 3 }))).toBeUndefined()
    expect(RetryPolicy.refusal(own, 1, limited, spent({ retries: 4 }))).toMatchObject({ byReason: true })
    expect(RetryPolicy.refusal(own, 1, limited, spent({ sleptMs: 10 * MINUTE + 1 }))).toMatchObject({ byReason: true })
    expect(RetryPolicy.refusal(own, 1, failure("overloaded"), spent({ retries: 4 }))).toBeUndefined()
  })

  it("rule X11: count attempts where the policy does", () => {
    const policy = policyOf({ profile: "cycling", maxRetries: 9, reasons: { network: { maxRetries: 3 } } })
    expect(RetryPolicy.delay(policy, 5, failure("network"), spent({ retries: 1 }))).toBeDefined()
    expect(RetryPolicy.delay(policy, 5, failure("network"), spent({ retries: 2 }))).toBeUndefined()
  })

  it("rule X11, P5: cut the last wait if they or the policy clip, but never below a provider's hint", () => {
    const clipping = policyOf({ reasons: { overloaded: { budget: { total: "10 minutes", clip: true } } } })
    const nineSpent = spent({ sleptMs: 9 * MINUTE })
    expect(RetryPolicy.decide(clipping, 7, failure("overloaded"), nineSpent)).toMatchObject({
      delayMs: MINUTE,
      clipped: true
    })
    expect(RetryPolicy.decide(clipping, 7, asking("overloaded", 2 * MINUTE), nineSpent)).toMatchObject({
      byReason: true
    })
    const whole = policyOf({ budget: { clip: true }, reasons: { overloaded: { budget: "10 minutes" } } })
    expect(RetryPolicy.delay(whole, 7, failure("overloaded"), nineSpent)).toBe(MINUTE)
    const strict = policyOf({
      budget: { clip: true },
      reasons: { overloaded: { budget: { total: "10 minutes", clip: false } } }
    })
    expect(RetryPolicy.delay(strict, 7, failure("overloaded"), nineSpent)).toBeUndefined()
  })

  it("rule X4, X11: are extended by a person's extension of the budget", () => {
    const extended = spent({ sleptMs: 10 * MINUTE }, { extendedMs: MINUTE })
    expect(RetryPolicy.delay(own, 0, failure("rate-limited"), extended)).toBe(5_000)
  })

  it("rule X11: apply to the whole step's spending, if the reason's part is unknown", () => {
    const { onReason: _, ...whole } = spent({})
    expect(RetryPolicy.decide(own, 1, failure("rate-limited"), whole)).toMatchObject({ byReason: true })
    expect(RetryPolicy.delay(own, 4, failure("rate-limited"))).toBeUndefined()
  })

  it("a budget without an end is none", () => {
    expect(Budget.ofReason(policyOf({ reasons: { network: { budget: "Infinity" } } }), "network")).toBeUndefined()
    expect(Budget.hasReasonLimits(policyOf({ reasons: { network: { hint: "ignore" } } }), "network")).toBe(false)
  })
})

const REASONS = ["overloaded", "rate-limited", "network"] as const satisfies ReadonlyArray<Failure.Reason>

const limits: fc.Arbitrary<Budget.ReasonRule> = fc.record(
  {
    maxRetries: fc.nat(6),
    budget: fc.record(
      { totalMs: fc.constantFrom(0, MINUTE, 20 * MINUTE, 9 * HOUR), clip: fc.boolean() },
      { requiredKeys: ["totalMs"] }
    ),
    schedule: fc.constantFrom<Backoff.Schedule>(Backoff.linear(1_000, 1_000), Backoff.steps([MINUTE]))
  },
  { requiredKeys: [] }
)

const policy: fc.Arbitrary<RetryPolicy.RetryPolicy> = fc
  .record({
    profile: fc.constantFrom(Profile.profiles.overnight, Profile.profiles.interactive),
    totalMs: fc.constantFrom(undefined, 10 * MINUTE, 8 * HOUR),
    clip: fc.boolean(),
    measure: fc.constantFrom<Budget.Measure>("scheduled", "wall-clock"),
    counts: fc.constantFrom("retries" as const, "attempts" as const),
    jitter: fc.constantFrom({ factor: 0 }, { factor: 0.5 }),
    reasons: fc.dictionary(fc.constantFrom(...REASONS), limits, { noNullPrototype: true })
  })
  .map(({ clip, measure, profile, totalMs, ...rest }) => ({
    ...profile,
    ...rest,
    budget: { ...defined({ totalMs }), clip, measure }
  }))

interface Failed {
  readonly reason: (typeof REASONS)[number]
  readonly retryAfterMs: number
  readonly tookMs: number
  readonly spread: number
}

const failures: fc.Arbitrary<Array<Failed>> = fc.array(
  fc.record({
    reason: fc.constantFrom(...REASONS),
    retryAfterMs: fc.constantFrom(0, 1, 90_000, HOUR),
    tookMs: fc.constantFrom(0, 1_000, 10 * MINUTE),
    spread: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  }),
  { maxLength: 40, size: "max" }
)

/** Runs a step through failures; returns each decision with the spending at that time. */
const run = (policy: RetryPolicy.RetryPolicy, all: ReadonlyArray<Failed>) => {
  let spending = Spending.none
  const decided: Array<{
    readonly reason: Failure.Reason
    readonly spent: RetryStrategy.Spent
    readonly decision: RetryPolicy.RetryDecision
  }> = []
  let now = 0
  for (const { reason, retryAfterMs, spread, tookMs } of all) {
    now += tookMs
    const failed = asking(reason, retryAfterMs)
    const { retries } = spending
    spending = Spending.fail(spending, failed, now)
    const spent = Spending.spentAt(spending, failed, now, spread)
    const decision = RetryPolicy.decide(policy, retries, failed, spent)
    decided.push({ reason, spent, decision })
    if (decision._tag === "Refused") break
    spending = Spending.retry(spending, failed, decision.delayMs)
    now += decision.delayMs
  }
  return decided
}

const sum = (ns: ReadonlyArray<number>): number => ns.reduce((a, b) => a + b, 0)

describe("laws of reasons", () => {
  it("rule X11, D1: no budget and no number of retries is exceeded, of the step or of a reason, for any failures in any order", () => {
    fc.assert(
      fc.property(policy, failures, (policy, all) => {
        for (const { decision, reason, spent } of run(policy, all)) {
          if (decision._tag === "Refused") continue
          const { onReason = { retries: 0, sleptMs: 0, elapsedMs: 0 } } = spent
          const isScheduled = policy.budget.measure === "scheduled"
          const { totalMs = Infinity } = policy.budget
          expect((isScheduled ? spent.sleptMs : spent.elapsedMs) + decision.delayMs).toBeLessThanOrEqual(totalMs)
          const own = Budget.ofReason(policy, reason)?.totalMs ?? Infinity
          expect((isScheduled ? onReason.sleptMs : onReason.elapsedMs) + decision.delayMs).toBeLessThanOrEqual(own)
          expect(onReason.retries).toBeLessThan(RetryPolicy.mostRetriesOn(policy, reason) ?? Infinity)
        }
      }),
      { numRuns: 3_000 }
    )
  })

  it("rule X11, D2: the spending of the reasons adds up to that of the step, and comes from their own failures alone", () => {
    fc.assert(
      fc.property(policy, failures, (policy, all) => {
        const decided = run(policy, all)
        for (const [n, { reason, spent }] of decided.entries()) {
          const before = decided.slice(0, n)
          const waits = (of: typeof before) =>
            sum(of.map(({ decision }) => (decision._tag === "Delay" ? decision.delayMs : 0)))
          expect(spent.sleptMs).toBe(waits(before))
          const alike = before.filter((one) => one.reason === reason)
          expect(spent.onReason).toMatchObject({ retries: alike.length, sleptMs: waits(alike) })
          expect(spent.onReason?.elapsedMs).toBeLessThanOrEqual(spent.elapsedMs)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule X11: the order of failures loses none: a reason has as many retries among others as it has alone", () => {
    const even = Backoff.steps([MINUTE])
    const own = fc.record({ "rate-limited": limits, network: limits })
    fc.assert(
      fc.property(own, failures, (own, failures) => {
        const policy: RetryPolicy.RetryPolicy = {
          ...Profile.profiles.overnight,
          schedule: even,
          reasons: {
            "rate-limited": { ...own["rate-limited"], schedule: even },
            network: { ...own.network, schedule: even }
          },
          budget: Budget.unlimited,
          hints: false
        }
        const together = run(policy, failures)
        const refused = together.at(-1)?.decision._tag === "Refused" ? together.at(-1)?.reason : undefined
        const overdrawn = REASONS.map((reason) => {
          const alike = failures.filter((one) => one.reason === reason)
          const granted = (decided: typeof together) =>
            decided.filter((one) => one.reason === reason && one.decision._tag === "Delay").length
          const alone = granted(run(policy, alike))
          expect(granted(together)).toBeLessThanOrEqual(alone)
          if (refused === reason) expect(granted(together)).toBe(alone)
          return alone < alike.length
        })
        expect(refused !== undefined).toBe(overdrawn.includes(true))
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule X11, P3: a reason's limits only restrict: the wait is never longer than without them, and the step's end never later", () => {
    fc.assert(
      fc.property(policy, failures, (policy, all) => {
        const reasons = Object.fromEntries(
          Object.entries(policy.reasons).map(([name, { schedule }]) => [
            name,
            schedule === undefined ? {} : { schedule }
          ])
        )
        for (const [retries, { decision, reason, spent }] of run(policy, all).entries()) {
          const without = RetryPolicy.decide({ ...policy, reasons }, retries, failure(reason), spent)
          const having = RetryPolicy.decide(policy, retries, failure(reason), spent)
          if (without._tag === "Refused") expect(having._tag).toBe("Refused")
          else if (having._tag === "Delay") expect(having.delayMs).toBeLessThanOrEqual(without.delayMs)
          expect(
            decision._tag === "Refused" && decision.byReason === true && !Budget.hasReasonLimits(policy, reason)
          ).toBe(false)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule X11: more spending on a reason gives a shorter wait, down to none", () => {
    const cost = fc.nat(2 * HOUR)
    fc.assert(
      fc.property(policy, fc.constantFrom(...REASONS), fc.nat(8), cost, cost, (policy, reason, retries, ms, more) => {
        const waitOf = (ms: number): number =>
          RetryPolicy.delay(policy, retries, failure(reason), {
            sleptMs: 4 * HOUR,
            elapsedMs: 4 * HOUR,
            spread: 0.5,
            onReason: { retries, sleptMs: ms, elapsedMs: ms }
          }) ?? 0
        expect(waitOf(ms + more)).toBeLessThanOrEqual(waitOf(ms))
      }),
      { numRuns: 3_000 }
    )
  })
})
