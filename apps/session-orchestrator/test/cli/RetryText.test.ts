import { describe, expect, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import { Result } from "effect"
import * as RetryText from "../../src/cli/RetryText.ts"

const policy = (settings: unknown) => Profile.resolve(Result.getOrThrow(Profile.decode(settings)))

const last = (settings: unknown, most = 100): string => RetryText.table(policy(settings), most).at(-1) ?? ""

describe("RetryText", () => {
  it("sums up a schedule that is too long to list by what ends it", () => {
    const schedule = { type: "steps", delays: ["3 seconds"] }
    expect(RetryText.summary(policy({ schedule }))).toMatch(/^more than \d+ retries over 8 h$/)
    expect(RetryText.summary(policy({ schedule, budget: "Infinity" }))).toBe("retries without end")
  })

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

  it("D1: of a schedule that is printed in part, says what follows the rows and what ends it", () => {
    expect(RetryText.table(policy({}), 2).slice(2)).toEqual([
      "    2   10 s   15 s",
      "",
      "2 of 21 retries, 15 s of waiting so far. 19 more follow, 7 h 31 m 45 s of waiting in all. " +
        "Then the turn fails: the next wait would not fit into the budget of 8 h (retry.budget)."
    ])
    expect(last({}, 20)).toContain("1 more follows,")
  })

  it("D1: as many rows as there are retries are all of them", () => {
    expect(RetryText.table(policy({}), 21)).toEqual(RetryText.table(policy({}), 100))
    expect(last({ profile: "interactive" }, 3)).toBe(last({ profile: "interactive" }))
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
    expect(last({ budget: "Infinity" }, 5)).toBe(
      "5 retries, 6 m 45 s of waiting so far. And so on: nothing in this configuration ends it."
    )
    expect(last({ schedule: { type: "steps", delays: ["1 second"] } }, 5)).toBe(
      "5 retries, 5 s of waiting so far. And so on: it ends after more than 10000 retries."
    )
    expect(last({ schedule: { type: "exponential", base: "1 second" }, maxDelay: "10 seconds" })).toContain(
      "the next wait would be longer than 10 s (retry.maxDelay)."
    )
  })

  it("A2: cycling is told in attempts", () => {
    expect(last({ profile: "cycling" })).toContain("there are no more than 3 attempts (retry.maxRetries).")
  })

  it("A6: says where a provider's own wait counts otherwise", () => {
    expect(RetryText.remarks(policy({ profile: "cycling" }))).toContain(
      "For rate-limited its own wait stands instead, longer or shorter."
    )
    expect(RetryText.remarks(policy({ profile: "cycling", hints: false })).join()).not.toContain("stands instead")
  })

  it("A5, A7: tells by kind of failure what is waited and where it goes", () => {
    const routing = { type: "round-robin", targets: ["a/a", "b/b"] }
    const lines = RetryText.byKind(policy({ profile: "cycling", routing }), { provider: "a", model: "a" })
    expect(lines).toEqual([
      "",
      "By kind of failure, on a/a and while it lasts everywhere:",
      "",
      "  rate-limited",
      "    b/b at once, a/a after 2 s, then the turn fails (max-retries)",
      "  overloaded, server-error, quota-exhausted, auth, model-unavailable, bad-request, refused",
      "    b/b at once, a/a at once, then the turn fails (max-retries)",
      "  an error inside an answer, invalid-response, unknown",
      "    a/a at once, a/a at once, then the turn fails (max-retries)",
      "  network, timeout, aborted",
      "    a/a after 1 s, a/a after 2 s, then the turn fails (max-retries)"
    ])
  })

  it("P8: tells where a chain goes, and says nothing where the schedule says all", () => {
    const chained = policy({
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: ["b/b"] } }
    })
    expect(RetryText.byKind(chained, { provider: "a", model: "a" }).slice(3, 7)).toEqual([
      "  rate-limited, overloaded, server-error, an error inside an answer, network, timeout, aborted, invalid-response, unknown",
      "    b/b at once, a/a after 4 s, b/b after 8 s, then the turn fails (max-retries)",
      "  quota-exhausted, auth, model-unavailable",
      "    b/b at once, then the turn fails (not-retryable)"
    ])
    expect(RetryText.byKind(policy({}), { provider: "a", model: "a" })).toEqual([])
  })

  it("X11: tells what failures of one reason may cost", () => {
    const limited = policy({
      reasons: { "rate-limited": { budget: "30 minutes", maxRetries: 5 }, network: { maxRetries: 1 } }
    })
    expect(RetryText.remarks(limited)).toEqual(
      expect.arrayContaining([
        "After rate-limited there are no more than 5 retries and 30 m of waiting, within what the step has (retry.reasons; X11).",
        "After network there are no more than 1 retry, within what the step has (retry.reasons; X11)."
      ])
    )
    expect(RetryText.byKind(limited, { provider: "a", model: "a" })).toEqual(
      expect.arrayContaining(["  network", "    a/a after 5 s, then the turn fails (max-retries of its reason)"])
    )
  })

  it("X11: tells when a turn asks before it spends", () => {
    const guarded = policy({ spendGuard: { after: "2 hours", maxInputTokens: 200_000, maxTurnTokens: 500_000 } })
    expect(RetryText.remarks(guarded)).toContain(
      "After 2 h of waiting the turn asks before it goes on with a request of more than 200000 tokens, or after more than 500000 tokens; without an answer within 8 h it fails (retry.spendGuard; X11)."
    )
    const value = (settings: unknown) =>
      RetryText.primitives(policy(settings)).find(([name]) => name === "spendGuard")?.[1]
    expect(value({})).toBe("off")
    expect(value({ spendGuard: { maxTurnTokens: 9 } })).toBe("asks after 1 h of waiting, after more than 9 tokens")
  })

  it("every primitive is named as the configuration names it", () => {
    expect(RetryText.primitives(policy({})).map(([name]) => name)).toEqual([
      "enabled",
      "schedule",
      "jitter",
      "reasons",
      "maxRetries",
      "counts",
      "budget",
      "measure",
      "maxDelay",
      "hints",
      "spendGuard",
      "requestTimeout.firstContent",
      "requestTimeout.idle",
      "maxResponseCharacters",
      "routing",
      "maxTurns",
      "maxFailedToolSteps",
      "finalReport"
    ])
  })
})
