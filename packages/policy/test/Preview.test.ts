import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import { Duration } from "effect"
import { Preview, Profile } from "../src/index.ts"

describe("Preview", () => {
  it("rule D1: the overnight policy has 21 rows and ends for its budget after 27,105 s", () => {
    const { rows, totalMs, because } = Preview.rows(Profile.profiles.overnight)
    expect(rows).toHaveLength(21)
    expect(totalMs).toBe(27_105_000)
    expect(because).toBe("budget")
    expect(rows.slice(0, 3)).toEqual([
      { attempt: 0, delayMs: 5_000, atMs: 5_000, clipped: false },
      { attempt: 1, delayMs: 10_000, atMs: 15_000, clipped: false },
      { attempt: 2, delayMs: 30_000, atMs: 45_000, clipped: false }
    ])
  })

  it("rule D1: with clip the last of 22 rows is marked as cut", () => {
    const { rows, totalMs } = Preview.rows(Profile.resolve({ budget: { clip: true } }))
    expect(totalMs).toBe(28_800_000)
    expect(rows.at(-1)).toEqual({ attempt: 21, delayMs: 1_695_000, atMs: 28_800_000, clipped: true })
  })

  it("shows a delay with the least jitter", () => {
    expect(Preview.rows(Profile.resolve({ jitter: { factor: 0.5 } }))).toEqual(Preview.rows(Profile.profiles.overnight))
  })

  it("names the limit that ends it", () => {
    expect(Preview.rows(Profile.profiles.interactive).because).toBe("max-retries")
    expect(Preview.rows(Profile.resolve({ enabled: false }))).toEqual({ rows: [], totalMs: 0, because: "disabled" })
    expect(Preview.rows(Profile.resolve({ maxDelay: Duration.minutes(5) })).because).toBe("max-delay")
  })

  it("rule D1: a policy that ends after the requested rows has a reason, and one with further retries has none", () => {
    expect(Preview.rows(Profile.profiles.overnight, 21).because).toBe("budget")
    expect(Preview.rows(Profile.profiles.overnight, 20).because).toBeUndefined()
  })

  it("a policy without end is shown up to the requested rows, without a reason", () => {
    const endless = Profile.resolve({ budget: Duration.infinity })
    const { rows, because } = Preview.rows(endless, 50)
    expect(rows).toHaveLength(50)
    expect(because).toBeUndefined()
  })

  it("a policy without end is shown for 1,000 rows by default", () => {
    expect(Preview.rows(Profile.resolve({ budget: Duration.infinity })).rows).toHaveLength(1_000)
  })

  it("rule C2: a failure that does not pass ends at once, and every other is waited for", () => {
    const outlooks = Preview.byKind(Profile.profiles.overnight, { provider: "a", model: "a" }, 3)
    const final = outlooks.filter(({ steps }) => steps.length === 0)
    expect(final.map(({ because, kinds }) => [because, kinds])).toEqual([
      ["not-retryable", ["quota-exhausted", "auth", "model-unavailable", "bad-request", "refused"]]
    ])
    expect(outlooks.filter(({ steps }) => steps.length > 0).flatMap(({ kinds }) => kinds)).toEqual([
      "rate-limited",
      "overloaded",
      "server-error",
      "an error inside an answer",
      "network",
      "timeout",
      "aborted",
      "invalid-response",
      "unknown"
    ])
  })

  it("has every wait of a step that ends within the requested steps, and the reason", () => {
    const policy = Profile.resolve({ maxRetries: 3 })
    const [first] = Preview.byKind(policy, { provider: "a", model: "a" }, 3)
    expect(first?.steps.map(({ delayMs }) => delayMs)).toEqual([5_000, 10_000, 30_000])
    expect(first?.because).toBe("max-retries")
  })

  it("rule A3, A5: groups kinds of failure by their treatment, and leaves none out", () => {
    const targets = [
      { provider: "a", model: "a" },
      { provider: "b", model: "b" }
    ]
    const policy = { ...Profile.profiles.cycling, routing: { type: "round-robin" as const, targets } }
    const outlooks = Preview.byKind(policy, { provider: "a", model: "a" }, 5)
    expect(outlooks.map(({ kinds }) => kinds[0])).toEqual([
      "rate-limited",
      "overloaded",
      "an error inside an answer",
      "network"
    ])
    const reasons = new Set(outlooks.flatMap(({ kinds }) => kinds))
    for (const reason of Failure.Reason.literals) expect(reasons.has(reason)).toBe(reason !== "context-overflow")
  })

  it("shows an endless step up to the requested steps", () => {
    const endless = Profile.resolve({ budget: Duration.infinity })
    const [first] = Preview.byKind(endless, { provider: "a", model: "a" }, 3)
    expect(first?.steps.map(({ delayMs }) => delayMs)).toEqual([5_000, 10_000, 30_000])
    expect(first?.because).toBeUndefined()
  })
})
