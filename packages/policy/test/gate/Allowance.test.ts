import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Allowance from "../../src/gate/Allowance.ts"

const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined })

const allowances = fc.record({ calls: limit(5), requestsPerMinute: limit(20), tokensPerMinute: limit(500) })

/** Calls one after another: the time since the call before, the tokens, and the duration. */
const crowds = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 30_000 }),
    tokens: fc.integer({ min: 0, max: 300 }),
    takesMs: fc.integer({ min: 0, max: 90_000 }),
    process: fc.integer({ min: 0, max: 2 })
  }),
  { maxLength: 40, size: "max" }
)

interface Asked {
  readonly afterMs: number
  readonly tokens: number
  readonly takesMs: number
  readonly process: number
}

interface StartedCall {
  readonly beganAt: number
  readonly endsAt: number
  readonly tokens: number
}

/** Begins each call as soon as it may, in order, in one of three processes that share their use. */
const play = (allowance: Allowance.Allowance, crowd: ReadonlyArray<Asked>): ReadonlyArray<StartedCall> => {
  const uses = [Allowance.unused, Allowance.unused, Allowance.unused]
  const calls: Array<StartedCall & { readonly process: number; hasEnded: boolean }> = []
  let now = 1_000_000_123
  const endUntil = (until: number) => {
    for (const call of calls) {
      if (call.hasEnded || call.endsAt > until) continue
      call.hasEnded = true
      uses[call.process] = Allowance.ended(uses[call.process] ?? Allowance.unused)
    }
  }
  for (const asked of crowd) {
    now += asked.afterMs
    for (;;) {
      endUntil(now)
      const at = Allowance.nextAt(allowance, uses, now, asked.tokens)
      if (at === now) break
      const firstEnd = Math.min(...calls.filter(({ hasEnded }) => !hasEnded).map(({ endsAt }) => endsAt))
      expect(at, "waits for something").toBeGreaterThan(now)
      expect(Math.min(at, firstEnd), "waits for something that comes").toBeLessThan(Infinity)
      now = Math.min(at, firstEnd)
    }
    uses[asked.process] = Allowance.begun(uses[asked.process] ?? Allowance.unused, {
      beganAt: now,
      estimate: asked.tokens
    })
    calls.push({ ...asked, beganAt: now, endsAt: now + asked.takesMs, hasEnded: false })
  }
  return calls
}

const within = (calls: ReadonlyArray<StartedCall>, from: number) =>
  calls.filter(({ beganAt }) => beganAt >= from && beganAt < from + 60_000)

describe("Allowance", () => {
  it("for any calls no limit is exceeded, and every call begins at last", () => {
    fc.assert(
      fc.property(allowances, crowds, (allowance, crowd) => {
        const calls = play(allowance, crowd)
        expect(calls).toHaveLength(crowd.length)
        for (const [i, { beganAt }] of calls.entries()) {
          const underway = calls.slice(0, i + 1).filter((call) => call === calls[i] || call.endsAt > beganAt)
          expect(underway.length).toBeLessThanOrEqual(allowance.calls ?? Infinity)
          const minute = within(calls, beganAt)
          expect(minute.length).toBeLessThanOrEqual(allowance.requestsPerMinute ?? Infinity)
          const tokens = minute.reduce((sum, call) => sum + call.tokens, 0)
          const isOne = minute.filter((call) => call.tokens > 0).length === 1
          if (!isOne) expect(tokens).toBeLessThanOrEqual(allowance.tokensPerMinute ?? Infinity)
        }
      })
    )
  })

  it("no call waits longer than 61 s for room that is free after a minute", () => {
    fc.assert(
      fc.property(allowances, crowds, fc.integer({ min: 0, max: 300 }), (allowance, crowd, tokens) => {
        let use = Allowance.unused
        let now = 1_000_000_123
        for (const call of crowd) {
          now += call.afterMs
          use = Allowance.ended(Allowance.begun(use, { beganAt: now, estimate: call.tokens }))
        }
        expect(Allowance.nextAt(allowance, [use], now, tokens)).toBeLessThanOrEqual(now + 61_000)
      })
    )
  })

  it("exactly the allowed calls are under way, and the next one waits for an end", () => {
    let use = Allowance.unused
    for (let i = 0; i < 3; i++) {
      expect(Allowance.nextAt({ calls: 3 }, [use], 1_000, 0)).toBe(1_000)
      use = Allowance.begun(use, { beganAt: 1_000, estimate: 0 })
    }
    expect(Allowance.nextAt({ calls: 3 }, [use], 1_000, 0)).toBe(Infinity)
    expect(Allowance.nextAt({ calls: 4 }, [use, { ...Allowance.unused, underway: 1 }], 1_000, 0)).toBe(Infinity)
    expect(Allowance.nextAt({ calls: 3 }, [Allowance.ended(use)], 1_000, 0)).toBe(1_000)
    expect(Allowance.ended(Allowance.unused).underway).toBe(0)
  })

  it("a request is free again when the second of its start is a minute old", () => {
    const use = Allowance.begun(Allowance.unused, { beganAt: 5_900, estimate: 0 })
    const at = (now: number) => Allowance.nextAt({ requestsPerMinute: 1 }, [use], now, 0)
    expect(at(5_900)).toBe(66_000)
    expect(at(65_999)).toBe(66_000)
    expect(at(66_000)).toBe(66_000)
    expect(Allowance.nextAt({ requestsPerMinute: 2 }, [use], 5_900, 0)).toBe(5_900)
  })

  it("a call waits for the seconds that free its room, and a call that is too large for an empty minute", () => {
    let use = Allowance.begun(Allowance.unused, { beganAt: 1_000, estimate: 60 })
    use = Allowance.begun(use, { beganAt: 3_000, estimate: 30 })
    const at = (tokens: number) => Allowance.nextAt({ tokensPerMinute: 100 }, [use], 4_000, tokens)
    expect(at(10)).toBe(4_000)
    expect(at(11)).toBe(62_000)
    expect(at(70)).toBe(62_000)
    expect(at(71)).toBe(64_000)
    expect(at(1_000)).toBe(64_000)
    expect(Allowance.nextAt({ tokensPerMinute: 100 }, [], 4_000, 1_000)).toBe(4_000)
  })

  it("the input replaces the estimate in the second of the call's start, the output counts when it was reported, each once", () => {
    const call = { beganAt: 1_000, estimate: 50 }
    let use = Allowance.begun(Allowance.begun(Allowance.unused, call), { beganAt: 2_500, estimate: 7 })
    use = Allowance.counted(use, 8_000, call, { inputTokens: 80, outputTokens: 0 }, undefined)
    expect(use.seconds).toEqual([
      { at: 1_000, requests: 1, tokens: 80 },
      { at: 2_000, requests: 1, tokens: 7 }
    ])
    const known = { inputTokens: 80, outputTokens: 5 }
    use = Allowance.counted(use, 9_100, call, known, { inputTokens: 80, outputTokens: 0 })
    use = Allowance.counted(use, 9_900, call, { inputTokens: 82, outputTokens: 9 }, known)
    expect(use.seconds).toEqual([
      { at: 1_000, requests: 1, tokens: 82 },
      { at: 2_000, requests: 1, tokens: 7 },
      { at: 9_000, requests: 0, tokens: 9 }
    ])
    // After a minute the beginning of the call is forgotten; its output still counts.
    use = Allowance.counted(
      use,
      90_000,
      call,
      { inputTokens: 82, outputTokens: 10 },
      { inputTokens: 82, outputTokens: 9 }
    )
    expect(use.seconds).toEqual([{ at: 90_000, requests: 0, tokens: 1 }])
  })

  it("a clock that is set back a little does not forget calls, and one that is set back far delays no call", () => {
    const use = Allowance.begun(Allowance.unused, { beganAt: 500_000, estimate: 0 })
    expect(Allowance.begun(use, { beganAt: 440_000, estimate: 0 }).seconds).toEqual([
      { at: 500_000, requests: 2, tokens: 0 }
    ])
    expect(Allowance.nextAt({ requestsPerMinute: 1 }, [use], 440_000, 0)).toBe(561_000)
    expect(Allowance.nextAt({ requestsPerMinute: 1 }, [use], 439_999, 0)).toBe(439_999)
  })
})
