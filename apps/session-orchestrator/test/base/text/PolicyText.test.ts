import { describe, expect, it } from "@effect/vitest"
import { Profile, RetrySettings } from "@holdfast/policy"
import { Result } from "effect"
import * as PolicyText from "../../../src/base/text/PolicyText.ts"

const policy = (settings: unknown) => Profile.resolve(Result.getOrThrow(RetrySettings.decode(settings)))

const last = (settings: unknown, most = 100): string => PolicyText.table(policy(settings), most).at(-1) ?? ""

describe("PolicyText", () => {
  const endless = "And so on: nothing in this configuration ends it."
  const tooLong = "And so on: it ends after more than 10000 retries."
  const five = "retries without end | 5 retries, 6 m 45 s of waiting so far."
  const capped = { schedule: { type: "exponential", base: "1 second" }, maxDelay: "10 seconds" }
  const then = "of waiting in all. Then the turn fails:"
  it.each<[settings: object, text: string]>([
    [{ enabled: false }, "no retries | No retries: they are switched off (retry.enabled)."],
    [{ maxRetries: 1 }, `1 retry over 5 s | 1 retry, 5 s ${then} there are no more than 1 retry (retry.maxRetries).`],
    [{ budget: "Infinity" }, `${five} ${endless}`],
    [{ budget: "Infinity", maxDelay: "1 hour" }, `${five} ${tooLong}`],
    [{ budget: "Infinity", maxDelay: "0 seconds" }, `${five} ${endless}`],
    [{ budget: "Infinity", maxDelay: "0 seconds", maxRetries: 20_000 }, `${five} ${tooLong}`],
    [
      { schedule: { type: "steps", delays: ["1 second"] } },
      `more than 1000 retries over 8 h | 5 retries, 5 s of waiting so far. ${tooLong}`
    ],
    [capped, `4 retries over 15 s | 4 retries, 15 s ${then} the next wait would be longer than 10 s (retry.maxDelay).`]
  ])("summarises %j, and its end behind five rows", (settings, text) => {
    expect(`${PolicyText.summary(policy(settings))} | ${last(settings, 5)}`).toBe(text)
  })

  it("rule D1: the overnight schedule is 21 retries over 7 h 31 m 45 s", () => {
    expect(PolicyText.summary(policy({}))).toBe("21 retries over 7 h 31 m 45 s")
    const table = PolicyText.table(policy({}), 100)
    expect(table).toHaveLength(24)
    const head = ["retry   wait   since the first failure", "    1    5 s   5 s", "    2   10 s   15 s"]
    expect(table.slice(0, 3)).toEqual(head)
    expect(table[21]).toBe("   21   30 m   7 h 31 m 45 s")
    expect(last({})).toBe(
      "21 retries, 7 h 31 m 45 s of waiting in all. Then the turn fails: the next wait would not fit into the budget of 8 h (retry.budget)."
    )
  })

  it("rule D1: a schedule that is printed in part has the number of further rows and its end", () => {
    expect(PolicyText.table(policy({}), 2).slice(2)).toEqual([
      "    2   10 s   15 s",
      "",
      "2 of 21 retries, 15 s of waiting so far. 19 more follow, 7 h 31 m 45 s of waiting in all. " +
        "Then the turn fails: the next wait would not fit into the budget of 8 h (retry.budget)."
    ])
    expect(last({}, 20)).toContain("1 more follows,")
  })

  it("rule D1: as many rows as retries print the whole schedule", () => {
    expect(PolicyText.table(policy({}), 21)).toEqual(PolicyText.table(policy({}), 100))
    expect(last({ profile: "interactive" }, 3)).toBe(last({ profile: "interactive" }))
  })

  it("rule D1: a clipped budget has a shorter last wait", () => {
    const table = PolicyText.table(policy({ budget: { clip: true } }), 100)
    expect(table[22]).toBe("   22   28 m 15 s (cut)   8 h")
  })

  it("rule P4: the interactive schedule is 2 s, 4 s, 8 s, with the reason of its end", () => {
    expect(last({ profile: "interactive" })).toBe(
      "3 retries, 14 s of waiting in all. Then the turn fails: there are no more than 3 retries (retry.maxRetries)."
    )
  })

  it("a schedule without a longest wait can be without end", () => {
    const { maxDelayMs: _maxDelayMs, ...policyOf } = policy({ budget: "Infinity" })
    expect(PolicyText.table(policyOf, 0).at(-1)).toBe(`0 retries, 0 s of waiting so far. ${endless}`)
  })

  it("rule A2: cycling is counted in attempts", () => {
    expect(last({ profile: "cycling" })).toBe(
      "2 retries, 3 s of waiting in all. Then the turn fails: there are no more than 3 attempts (retry.maxRetries)."
    )
  })

  it("rule A6: names the reasons for which a provider's own wait counts differently", () => {
    expect(PolicyText.remarks(policy({ profile: "cycling" }))).toContain(
      "For rate-limited its own wait stands instead, longer or shorter."
    )
    expect(PolicyText.remarks(policy({ profile: "cycling", hints: false })).join()).not.toContain("stands instead")
  })

  it("rule A5, A7: has waits and targets by kind of failure", () => {
    const routing = { type: "round-robin", targets: ["a/a", "b/b"] }
    const lines = PolicyText.byKind(policy({ profile: "cycling", routing }), { provider: "a", model: "a" })
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

  it("rule P8: has the targets of a chain, and is empty if the schedule is complete", () => {
    const chained = policy({
      profile: "interactive",
      routing: { type: "fallback-chain", chains: { default: ["b/b"] } }
    })
    expect(PolicyText.byKind(chained, { provider: "a", model: "a" }).slice(3, 7)).toEqual([
      "  rate-limited, overloaded, server-error, an error inside an answer, network, timeout, aborted, invalid-response, unknown",
      "    b/b at once, a/a after 4 s, b/b after 8 s, then the turn fails (max-retries)",
      "  quota-exhausted, auth, model-unavailable",
      "    b/b at once, then the turn fails (not-retryable)"
    ])
    expect(PolicyText.byKind(policy({}), { provider: "a", model: "a" })).toEqual([])
  })

  it("rule X11: has the limits of failures of one reason", () => {
    const limited = policy({
      reasons: { "rate-limited": { budget: "30 minutes", maxRetries: 5 }, network: { maxRetries: 1 } }
    })
    expect(PolicyText.remarks(limited).slice(1, 3)).toEqual([
      "After rate-limited there are no more than 5 retries and 30 m of waiting, within what the step has (retry.reasons; X11).",
      "After network there are no more than 1 retry, within what the step has (retry.reasons; X11)."
    ])
    expect(PolicyText.byKind(limited, { provider: "a", model: "a" })).toEqual(
      expect.arrayContaining(["  network", "    a/a after 5 s, then the turn fails (max-retries of its reason)"])
    )
  })

  it("rule X11: has the conditions of the spend guard", () => {
    const guarded = policy({ spendGuard: { after: "2 hours", maxInputTokens: 200_000, maxTurnTokens: 500_000 } })
    expect(PolicyText.remarks(guarded)).toContain(
      "After 2 h of waiting the turn asks before it goes on with a request of more than 200000 tokens, or after more than 500000 tokens; without an answer within 8 h it fails (retry.spendGuard; X11)."
    )
    const value = (settings: unknown) =>
      PolicyText.primitives(policy(settings)).find(([name]) => name === "spendGuard")?.[1]
    expect(value({})).toBe("off")
    expect(value({ spendGuard: { maxTurnTokens: 9 } })).toBe("asks after 1 h of waiting, after more than 9 tokens")
  })

  it("describes each primitive in the words of its settings", () => {
    const all = (settings: unknown) => PolicyText.primitives(policy(settings)).map((pair) => pair.join(": "))
    expect(all({}).join("; ")).toBe(
      "enabled: true; schedule: 5 s, 10 s, 30 s, 1 m, 5 m, 10 m, 15 m, 30 m, then every 30 m; jitter: none; " +
        "reasons: none of its own; maxRetries: no limit; counts: retries; budget: 8 h; measure: scheduled; maxDelay: no limit; " +
        "hints: followed; midStream: fail, and unseen for submitted turns; spendGuard: off; requestTimeout.firstContent: 10 m; " +
        "requestTimeout.idle: 5 m; maxResponseCharacters: 16777216; routing: no fallback chains; maxTurns: no limit; " +
        "maxFailedToolSteps: 5; finalReport: none"
    )
    const changed = (settings: unknown) =>
      all(settings)
        .filter((line) => !all({}).includes(line))
        .join("; ")
    expect(changed({ profile: "interactive" })).toBe(
      "schedule: 2 s, then 2 times as long each time; maxRetries: 3; budget: no limit; maxDelay: 5 m"
    )
    expect(changed({ maxDelay: "0 seconds" })).toBe("")
    expect(changed({ maxDelay: "1 millis" })).toBe("maxDelay: 1 ms")
    const limits = { maxRetries: 7, maxTurns: 3, maxFailedToolSteps: 0, maxResponseCharacters: 1_000, hints: false }
    const more = { budget: { total: "1 hour", clip: true }, measure: "wall-clock", finalReport: { schema: {} } }
    const others = {
      schedule: { type: "linear", base: "1 second", increment: "2 seconds" },
      jitter: { factor: 0.254 },
      reasons: { network: { maxRetries: 1 }, timeout: { hint: "ignore" } },
      ...limits,
      ...more
    }
    expect(changed(others)).toBe(
      "schedule: 1 s, then 2 s longer each time; jitter: up to 25 % more; reasons: network, timeout; maxRetries: 7; " +
        "budget: 1 h, the last wait is cut to fit; measure: wall-clock; hints: ignored; maxResponseCharacters: 1000; " +
        "maxTurns: 3; maxFailedToolSteps: no limit; finalReport: required"
    )
    const routing = (routing: unknown) => changed({ routing })
    expect(routing({ type: "round-robin", targets: [] })).toBe("routing: the same target each time")
    expect(routing({ type: "round-robin", targets: ["a/a", "b/b"] })).toBe("routing: a/a, b/b in turn")
    const chains = { default: ["b/b", "c/c"], "a/a": [] }
    expect(routing({ type: "fallback-chain", chains, cooldown: "3 minutes", revert: "never" })).toBe(
      "routing: default: b/b, c/c; a/a: none; cooldown 3 m; revert never"
    )
  })

  it("has remarks about properties that the table does not show", () => {
    const remarks = (settings: unknown) => PolicyText.remarks(policy(settings))
    const longer = "A provider that asks for a longer wait gets it; one that asks for a shorter wait does not."
    const limit = "An attempt fails after 10 m without content, or 5 m between contents."
    const broken =
      "When an answer breaks off, the turn fails; a turn that was submitted voids what no client has received, and retries the step (retry.midStream; X7)."
    expect(remarks({})).toEqual([longer, broken, limit])
    expect(remarks({ jitter: { factor: 0.254 }, hints: false })).toEqual([
      "Jitter adds up to 25 % of the schedule's wait to each; it is not in the table.",
      "What a provider asks for is not followed.",
      broken,
      limit
    ])
    const ignored = remarks({ reasons: { timeout: { hint: "ignore" } } })
    expect(ignored).toEqual([longer, "For timeout it is not followed.", broken, limit])
    expect(remarks({ measure: "wall-clock", reasons: { network: { budget: "1 minute" } } })).toContain(
      "After network there are no more than 1 m of time, within what the step has (retry.reasons; X11)."
    )
    const guard = { after: "1 hour", maxInputTokens: 9 }
    expect(remarks({ spendGuard: guard }).join()).toContain("goes on with a request of more than 9 tokens; without")
  })

  it("has targets in turn if there are any, and one retry in the singular", () => {
    const primary = { provider: "a", model: "a" }
    expect(PolicyText.byKind(policy({ routing: { type: "round-robin", targets: [] } }), primary)).toEqual([])
    expect(PolicyText.byKind(policy({ routing: { type: "round-robin", targets: ["a/a"] } }), primary)).not.toEqual([])
    const endless = policy({ reasons: { network: { maxRetries: 1 } } })
    expect(PolicyText.byKind(endless, primary).find((line) => line.includes("and so on"))).toBe(
      "    a/a after 5 s, a/a after 10 s, a/a after 30 s, a/a after 1 m, a/a after 5 m, a/a after 10 m, a/a after 15 m, a/a after 30 m, and so on"
    )
  })

  it("has what follows when an answer breaks off, with the reasons that differ", () => {
    const remarks = (settings: unknown) => PolicyText.remarks(policy(settings)).filter((line) => line.endsWith("X7)."))
    expect(remarks({ midStream: "discard", reasons: { timeout: { midStream: "fail" } } })).toEqual([
      "When an answer breaks off, it is void, and the step is retried (retry.midStream; X7).",
      "After timeout the turn fails (retry.reasons; X7)."
    ])
    expect(remarks({ midStream: "unseen" })).toEqual([
      "When an answer breaks off, it is void if no client has received any of it, and the step is retried; otherwise the turn fails (retry.midStream; X7)."
    ])
    const value = (settings: unknown) => Object.fromEntries(PolicyText.primitives(policy(settings)))["midStream"]
    expect(value({})).toBe("fail, and unseen for submitted turns")
    expect(value({ midStream: "unseen", reasons: { timeout: { midStream: "fail" } } })).toBe("unseen; timeout: fail")
  })
})
