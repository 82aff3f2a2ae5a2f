import { describe, expect, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { Spending } from "@holdfast/kernel/host"
import { Backoff, Budget, Gate, Profile, RetryPolicy } from "../src/index.ts"
import * as Generated from "./routing/Generated.ts"

const overnight = Profile.profiles.overnight
const clipping: RetryPolicy.RetryPolicy = { ...overnight, budget: { ...overnight.budget, clip: true } }
const interactive = Profile.profiles.interactive

const hour = 3_600_000

const failure = (retryAfterMs?: number): Failure.Failure => ({
  reason: "overloaded",
  message: "Overloaded",
  retryable: true,
  ...(retryAfterMs === undefined ? {} : { hint: { retryAfterMs, source: "retry-after" } })
})

const spent = (over: Partial<RetryStrategy.Spent> = {}): RetryStrategy.Spent => ({
  sleptMs: 0,
  elapsedMs: 0,
  spread: 0,
  ...over
})

/** Fails until the policy gives up; the attempts themselves take `attemptMs` each. */
const exhaust = (policy: RetryPolicy.RetryPolicy, attemptMs = 0): ReadonlyArray<number> => {
  const delays: Array<number> = []
  let sleptMs = 0
  for (;;) {
    const elapsedMs = sleptMs + delays.length * attemptMs
    const delay = RetryPolicy.delay(policy, delays.length, failure(), spent({ sleptMs, elapsedMs }))
    if (delay === undefined) return delays
    delays.push(delay)
    sleptMs += delay
  }
}

const sum = (delays: ReadonlyArray<number>): number => delays.reduce((a, b) => a + b, 0)

describe("overnight", () => {
  it("rule D1: 21 retries sleep 27,105 s, and the 22nd is refused", () => {
    const delays = exhaust(overnight)
    expect(delays).toHaveLength(21)
    expect(sum(delays)).toBe(27_105_000)
    expect(RetryPolicy.decide(overnight, 21, failure(), spent({ sleptMs: 27_105_000 }))).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "budget", delayMs: 1_800_000 })
    )
  })

  it("rule D1: with clip 22 retries sleep 28,800,000 ms, the last one the rest of the budget", () => {
    const delays = exhaust(clipping)
    expect(delays).toHaveLength(22)
    expect(sum(delays)).toBe(28_800_000)
    expect(delays.at(-1)).toBe(1_695_000)
    expect(RetryPolicy.delay(clipping, 22, failure(), spent({ sleptMs: 28_800_000 }))).toBeUndefined()
  })

  it("rule D1: the number alone gives the same schedule, strict and clipped, and stays undefined after its end", () => {
    const byNumber = (policy: RetryPolicy.RetryPolicy) =>
      Array.from({ length: 60 }, (_, n) => RetryPolicy.delay(policy, n)).filter((delay) => delay !== undefined)
    expect(byNumber(overnight)).toEqual(exhaust(overnight))
    expect(byNumber(clipping)).toEqual(exhaust(clipping))
    expect(RetryPolicy.delay(overnight, 1_000_000_000)).toBeUndefined()
  })

  it("rule D2: by wall-clock the attempts' own time counts, so slow attempts leave fewer retries", () => {
    const byClock: RetryPolicy.RetryPolicy = { ...overnight, budget: { ...overnight.budget, measure: "wall-clock" } }
    expect(exhaust(byClock)).toHaveLength(21)
    // 20 retries sleep 25,305 s; with 180 s for each attempt 28,905 s have gone by then, and 8 h are 28,800 s.
    expect(exhaust(byClock, 180_000)).toHaveLength(20)
    expect(exhaust(overnight, 180_000)).toHaveLength(21)
  })

  it("rule P5: a hint beyond the rest of the budget ends the step at once, clipped or not", () => {
    for (const policy of [overnight, clipping]) {
      expect(RetryPolicy.decide(policy, 0, failure(403_973_000), spent())).toEqual(
        RetryPolicy.RetryDecision.Refused({ because: "budget", delayMs: 403_973_000 })
      )
      expect(RetryPolicy.delay(policy, 0, failure(8 * hour), spent())).toBe(8 * hour)
    }
  })
})

describe("interactive", () => {
  it("rule P3: 3 retries after the first attempt", () => {
    expect(exhaust(interactive)).toHaveLength(3)
    expect(RetryPolicy.decide(interactive, 3, failure(), spent())).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "max-retries" })
    )
  })

  it("rule P3: with enabled false there is no retry", () => {
    expect(RetryPolicy.decide({ ...interactive, enabled: false }, 0)).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "disabled" })
    )
  })

  it("rule P4: the waits are 2 s, 4 s, 8 s", () => {
    expect(exhaust(interactive)).toEqual([2_000, 4_000, 8_000])
  })

  it("rule P6: a wait above maxDelayMs fails at once instead of sleeping", () => {
    expect(RetryPolicy.delay(interactive, 0, failure(300_000), spent())).toBe(300_000)
    expect(RetryPolicy.decide(interactive, 0, failure(300_001), spent())).toEqual(
      RetryPolicy.RetryDecision.Refused({ because: "max-delay", delayMs: 300_001 })
    )
  })

  it("rule P6: a schedule that grows above the cap fails there too", () => {
    const { maxRetries: _, ...endless } = interactive
    // 2 s * 2^7 = 256 s is the last below 300 s.
    expect(exhaust(endless)).toHaveLength(8)
  })

  it("rule P3: a maxDelayMs of 0 or less switches the cap off", () => {
    for (const maxDelayMs of [0, -1]) {
      expect(RetryPolicy.delay({ ...interactive, maxDelayMs }, 0, failure(10 * hour), spent())).toBe(10 * hour)
    }
  })
})

describe("hints and jitter", () => {
  it("rule P5: a hint only lengthens the wait", () => {
    expect(RetryPolicy.delay(interactive, 2, failure(7_999), spent())).toBe(8_000)
    expect(RetryPolicy.delay(interactive, 2, failure(8_001), spent())).toBe(8_001)
  })

  it("rule P5: a hint that is no usable number is ignored", () => {
    for (const ms of [Number.NaN, Infinity, -Infinity, -1, 0]) {
      expect(RetryPolicy.delay(interactive, 0, failure(ms), spent())).toBe(2_000)
    }
  })

  it("rule P5: with hints off the provider's delay does not count", () => {
    expect(RetryPolicy.delay({ ...interactive, hints: false }, 0, failure(60_000), spent())).toBe(2_000)
  })

  it("rule P5: jitter is added on top of the hint, as a share of the schedule's delay", () => {
    const jittered = { ...interactive, jitter: { factor: 0.5 } }
    expect(RetryPolicy.decide(jittered, 1, failure(60_000), spent({ spread: 0.5 }))).toEqual(
      RetryPolicy.RetryDecision.Delay({
        delayMs: 61_000,
        scheduledMs: 4_000,
        hintMs: 60_000,
        jitterMs: 1_000,
        clipped: false
      })
    )
  })

  it("jitter gives way to the cap and to the budget instead of costing the retry", () => {
    const jittered = { ...overnight, jitter: { factor: 1 } }
    expect(RetryPolicy.delay({ ...jittered, maxDelayMs: 5_100 }, 0, failure(), spent({ spread: 0.9 }))).toBe(5_100)
    expect(RetryPolicy.delay(jittered, 0, failure(), spent({ sleptMs: 8 * hour - 6_000, spread: 0.9 }))).toBe(6_000)
  })
})

// --- laws

const schedule: fc.Arbitrary<Backoff.Schedule> = fc.oneof(
  fc
    .tuple(fc.array(fc.nat(3_600_000), { minLength: 1, maxLength: 6 }), fc.integer({ min: 60_000, max: 3_600_000 }))
    .map(([delaysMs, tailMs]): Backoff.Schedule => ({ type: "steps", delaysMs, tailMs })),
  fc
    .tuple(fc.integer({ min: 60_000, max: 600_000 }), fc.double({ min: 1, max: 4, noNaN: true }))
    .map(([baseMs, factor]) => Backoff.exponential(baseMs, factor)),
  fc
    .tuple(fc.integer({ min: 60_000, max: 600_000 }), fc.nat(600_000))
    .map(([baseMs, incrementMs]) => Backoff.linear(baseMs, incrementMs))
)

const policy: fc.Arbitrary<RetryPolicy.RetryPolicy> = fc.record(
  {
    enabled: fc.constant(true),
    schedule,
    jitter: fc.record({ factor: fc.double({ min: 0, max: 1, noNaN: true }) }),
    budget: fc.record({
      totalMs: fc.nat(12 * hour),
      measure: fc.constantFrom("scheduled", "wall-clock"),
      clip: fc.boolean()
    }),
    hints: fc.boolean(),
    requestTimeout: fc.constant(overnight.requestTimeout),
    reasons: fc.constant({}),
    counts: fc.constantFrom("retries", "attempts"),
    routing: fc.constant(overnight.routing),
    maxRetries: fc.nat(40),
    maxDelayMs: fc.integer({ min: -1, max: 4 * hour })
  },
  {
    requiredKeys: ["enabled", "schedule", "jitter", "budget", "hints", "requestTimeout", "reasons", "counts", "routing"]
  }
)

/** Valid hints, and invalid ones. */
const hintMs = fc.option(
  fc.oneof(
    fc.nat(6 * hour),
    fc.double(),
    fc.constantFrom(Number.NaN, Infinity, -Infinity, -1, -0, Number.MAX_VALUE, Number.MIN_VALUE)
  ),
  { nil: undefined }
)

const spread = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

describe("laws", () => {
  it("rule P5: a wait is never negative, never NaN, never above the cap, and never below schedule and hint", () => {
    fc.assert(
      fc.property(
        policy,
        fc.nat(50),
        hintMs,
        fc.record({ sleptMs: fc.nat(12 * hour), elapsedMs: fc.integer({ min: -hour, max: 14 * hour }), spread }),
        (policy, attempt, hint, spent) => {
          const decision = RetryPolicy.decide(policy, attempt, failure(hint), spent)
          if (decision._tag === "Refused") return
          const { delayMs, scheduledMs, jitterMs, clipped } = decision
          expect(Number.isFinite(delayMs)).toBe(true)
          expect(delayMs).toBeGreaterThanOrEqual(0)
          expect(jitterMs).toBeGreaterThanOrEqual(0)
          expect(delayMs).toBeLessThanOrEqual(Budget.remainingMs(policy.budget, spent))
          if (policy.maxDelayMs !== undefined && policy.maxDelayMs > 0) {
            expect(delayMs).toBeLessThanOrEqual(policy.maxDelayMs)
          }
          if (!clipped) expect(delayMs).toBeGreaterThanOrEqual(scheduledMs)
          if (decision.hintMs !== undefined) expect(delayMs).toBeGreaterThanOrEqual(decision.hintMs)
        }
      ),
      { numRuns: 5_000 }
    )
  })

  it("rule D1: a budget is never exceeded, for any failures and hints", () => {
    const attempts = fc.array(fc.tuple(hintMs, fc.nat(600_000), spread), { maxLength: 60, size: "max" })
    fc.assert(
      fc.property(policy, attempts, (policy, attempts) => {
        const { totalMs = Infinity, measure } = policy.budget
        let sleptMs = 0
        let elapsedMs = 0
        for (const [attempt, [hint, attemptMs, spread]] of attempts.entries()) {
          const delay = RetryPolicy.delay(policy, attempt, failure(hint), { sleptMs, elapsedMs, spread })
          if (delay === undefined) return
          sleptMs += delay
          elapsedMs += delay
          expect(measure === "scheduled" ? sleptMs : elapsedMs).toBeLessThanOrEqual(totalMs)
          elapsedMs += attemptMs
        }
      }),
      { numRuns: 3_000 }
    )
  })

  it("rule D2: more elapsed never means a longer remaining wait", () => {
    fc.assert(
      fc.property(
        policy,
        fc.nat(50),
        hintMs,
        fc.nat(12 * hour),
        fc.nat(12 * hour),
        fc.nat(hour),
        spread,
        (policy, attempt, hint, sleptMs, elapsedMs, more, spread) => {
          const wait = (extra: number): number =>
            RetryPolicy.delay(policy, attempt, failure(hint), {
              sleptMs: sleptMs + extra,
              elapsedMs: elapsedMs + extra,
              spread
            }) ?? 0
          expect(wait(more)).toBeLessThanOrEqual(wait(0))
        }
      ),
      { numRuns: 3_000 }
    )
  })

  it("rule P5: jitter only adds", () => {
    fc.assert(
      fc.property(policy, fc.nat(50), hintMs, spread, (policy, attempt, hint, spread) => {
        const wait = (spread: number) => RetryPolicy.delay(policy, attempt, failure(hint), spent({ spread }))
        const plain = wait(0)
        const jittered = wait(spread)
        expect(jittered === undefined).toBe(plain === undefined)
        expect(jittered ?? 0).toBeGreaterThanOrEqual(plain ?? 0)
      }),
      { numRuns: 3_000 }
    )
  })
})

describe("limits at their edges", () => {
  it("rule A2: n attempts are n - 1 retries, and a limit of 0 allows none", () => {
    const most = (maxRetries: number) =>
      (["attempts", "retries"] as const).map((counts) => RetryPolicy.mostRetries({ counts, maxRetries }))
    expect([0, 1, 2].map(most)).toEqual([
      [0, 0],
      [0, 1],
      [1, 2]
    ])
  })

  it("rule P5: a wait may be as long as the longest delay; 0 or less is no limit", () => {
    const delay = (maxDelayMs: number) => RetryPolicy.delay({ ...overnight, maxDelayMs }, 0)
    expect([-1, 0, 1, 4_999, 5_000].map(delay)).toEqual([5_000, 5_000, undefined, undefined, 5_000])
  })
})

describe("a failure that is another turn's", () => {
  it("rule P6: its provider's delay does not fail the turn, and the schedule's counts", () => {
    const own = failure(3 * hour)
    expect(RetryPolicy.decide(interactive, 0, own, spent())).toMatchObject({ _tag: "Refused", because: "max-delay" })
    const shared = RetryPolicy.decide(interactive, 0, { ...own, shared: true }, spent())
    expect(shared).toMatchObject({ _tag: "Delay", delayMs: 2_000 })
  })
})

describe("the last wait of a policy", () => {
  const isLast = (budget: Budget.WaitBudget, attempt: number, sleptMs: number) =>
    RetryPolicy.isLast(
      { ...overnight, budget },
      attempt,
      30_000,
      failure(3 * hour),
      spent({ sleptMs, elapsedMs: sleptMs })
    )
  const budget = { totalMs: hour / 6, measure: "scheduled", clip: false } as const

  it("rule X5: is the one after which the budget refuses a retry for the same failure", () => {
    expect(isLast(budget, 2, 15_000)).toBe(false)
    expect(isLast(budget, 3, 100_000)).toBe(false)
    expect(isLast(budget, 4, 400_000)).toBe(true)
  })

  it("rule X5: by wall clock counts a hold of ten minutes too", () => {
    expect(isLast({ ...budget, measure: "wall-clock" }, 0, 0)).toBe(true)
  })

  it("rule X5: is the one after which there are enough retries", () => {
    const last = [0, 1, 2].map((attempt) => RetryPolicy.isLast(interactive, attempt, 2_000, failure(), spent()))
    expect(last).toEqual([false, false, true])
  })

  const failures = fc.array(
    fc.record({
      reason: fc.constantFrom<Failure.Reason>(...Gate.ENDPOINTS, "invalid-response", "unknown"),
      hintMs: fc.option(fc.nat(hour), { nil: undefined }),
      callMs: fc.nat(60_000),
      heldMs: fc.nat(600_000),
      spread: fc.double({ min: 0, max: 0.99, noNaN: true })
    }),
    { minLength: 1, maxLength: 20, size: "max" }
  )
  const unrouted = Generated.policyWith(fc.constant(overnight.routing))

  it("rule X5, D2: after any other wait a shared failure of any reason ends no step, however its reason and others are limited", () => {
    fc.assert(
      fc.property(unrouted, failures, fc.nat(9 * hour), (policy, failures, sharedHintMs) => {
        let spending = Spending.none
        let now = 0
        for (const { callMs, heldMs, hintMs, reason, spread } of failures) {
          const own = { ...failure(hintMs), reason }
          now += callMs
          spending = Spending.fail(spending, own, now)
          const spentNow = Spending.spentAt(spending, own, now, spread)
          const decision = RetryPolicy.decide(policy, spending.retries, own, spentNow)
          if (decision._tag === "Refused") return
          const isLast = RetryPolicy.isLast(policy, spending.retries, decision.delayMs, own, spentNow)
          spending = Spending.retry(spending, own, decision.delayMs)
          now += decision.delayMs + heldMs
          for (const reason of isLast ? [] : Gate.ENDPOINTS) {
            const shared = { ...failure(sharedHintMs), reason, shared: true } as const
            const after = Spending.fail(spending, shared, now)
            const spentThen = Spending.spentAt(after, shared, now, spread)
            expect(RetryPolicy.decide(policy, after.retries, shared, spentThen)._tag).toBe("Delay")
          }
        }
      }),
      { numRuns: 300 }
    )
  })
})
