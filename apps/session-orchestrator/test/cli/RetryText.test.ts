import { describe, expect, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import { Result } from "effect"
import * as RetryText from "../../src/cli/RetryText.ts"

const policy = (settings: unknown) => Profile.resolve(Result.getOrThrow(Profile.decode(settings)))

const last = (settings: unknown, most = 100): string => RetryText.table(policy(settings), most).at(-1) ?? ""

describe("RetryText", () => {
  it("D1: the overnight schedule is 21 retries over 7 h 31 m 45 s", () => {
    expect(RetryText.summary(policy({}))).toBe("21 retries over 7 h 31 m 45 s")
    const table = RetryText.table(policy({}), 100)
    expect(table).toHaveLength(24)
    expect(table.slice(0, 3)).toEqual([
      "retry   wait   since the first failure",
      "    1    5 s   5 s",
      "    2   10 s   15 s"
    ])
    expect(table[21]).toBe("   21   30 m   7 h 31 m 45 s")
    expect(last({})).toBe(
      "21 retries, 7 h 31 m 45 s of waiting in all. Then the turn fails: the next wait would not fit into the budget of 8 h (retry.budget)."
    )
  })

  it("D1: a clipped budget shows its last wait cut", () => {
    const table = RetryText.table(policy({ budget: { clip: true } }), 100)
    expect(table[22]).toBe("   22   28 m 15 s (cut)   8 h")
  })

  it("P4: the interactive schedule is 2 s, 4 s, 8 s, and says why it ends", () => {
    expect(last({ profile: "interactive" })).toBe(
      "3 retries, 14 s of waiting in all. Then the turn fails: there are no more than 3 retries (retry.maxRetries)."
    )
  })

  it("says so when retries are switched off, never end, or grow beyond the cap", () => {
    expect(last({ enabled: false })).toBe("No retries: they are switched off (retry.enabled).")
    expect(last({ budget: "Infinity" }, 5)).toContain("And so on")
    expect(last({ schedule: { type: "exponential", base: "1 second" }, maxDelay: "10 seconds" })).toContain(
      "the next wait would be longer than 10 s (retry.maxDelay)."
    )
  })

  it("every primitive is named as the configuration names it", () => {
    expect(RetryText.primitives(policy({})).map(([name]) => name)).toEqual([
      "enabled",
      "schedule",
      "jitter",
      "maxRetries",
      "budget",
      "measure",
      "maxDelay",
      "hints",
      "requestTimeout.firstContent",
      "requestTimeout.idle"
    ])
  })
})
