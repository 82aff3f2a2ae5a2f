import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import { Result } from "effect"
import { Profile, RetryPolicy, RetrySettings } from "../src/index.ts"

const resolve = (input: unknown): RetryPolicy.RetryPolicy =>
  Profile.resolve(Result.getOrThrow(RetrySettings.decode(input)))

/** The error message for an invalid `retry` object. */
const complaint = (input: unknown): string =>
  Result.match(RetrySettings.decode(input), { onSuccess: () => "", onFailure: (error) => error.message })

describe("profiles", () => {
  it("rule D1: overnight is the default, with its schedule, 8 h of scheduled sleep, strict", () => {
    expect(resolve({})).toEqual(Profile.profiles.overnight)
    expect(resolve({}).budget).toEqual({ totalMs: 28_800_000, measure: "scheduled", clip: false })
    expect(resolve({}).hints).toBe(true)
  })

  it("rule P3: interactive has enabled true, 3 retries, a base of 2 s and a cap of 300 s", () => {
    expect(resolve({ profile: "interactive" })).toMatchObject({
      enabled: true,
      maxRetries: 3,
      schedule: { type: "exponential", baseMs: 2_000, factor: 2 },
      maxDelayMs: 300_000
    })
  })

  it("rule C8: every profile limits the time to first content and between contents", () => {
    for (const { requestTimeout } of [resolve({}), resolve({ profile: "interactive" })]) {
      expect(requestTimeout).toEqual({ firstContentMs: 600_000, idleMs: 300_000 })
    }
  })

  it("rule A8: cycling fails an attempt without progress for 10 minutes, at its beginning or later", () => {
    expect(resolve({ profile: "cycling" }).requestTimeout).toEqual({ firstContentMs: 600_000, idleMs: 600_000 })
  })

  it("rule P3: interactive and overnight have no chains, and return to the primary after its cooldown of 5 minutes", () => {
    for (const { routing } of [resolve({}), resolve({ profile: "interactive" })]) {
      expect(routing).toEqual({ type: "fallback-chain", chains: {}, revert: "cooldown-expiry", cooldownMs: 300_000 })
    }
  })

  it("rule A2, A11: cycling has 3 attempts, 10 steps, and its targets in turn", () => {
    expect(resolve({ profile: "cycling" })).toMatchObject({
      maxRetries: 3,
      counts: "attempts",
      maxTurns: 10,
      routing: { type: "round-robin", targets: [] }
    })
    expect(RetryPolicy.mostRetries(resolve({ profile: "cycling" }))).toBe(2)
    for (const [maxRetries, retries] of [
      [0, 0],
      [1, 0],
      [2, 1],
      [5, 4]
    ] as const) {
      expect(RetryPolicy.mostRetries(resolve({ profile: "cycling", maxRetries }))).toBe(retries)
    }
  })

  it("resolved policies survive JSON, as records need it", () => {
    for (const policy of [resolve({ budget: "Infinity", maxDelay: "Infinity" }), ...Object.values(Profile.profiles)]) {
      expect(JSON.parse(JSON.stringify(policy))).toEqual(policy)
    }
  })
})

describe("settings", () => {
  it("each primitive replaces that of the profile", () => {
    expect(
      resolve({
        profile: "interactive",
        enabled: false,
        schedule: { type: "steps", delays: ["100 millis", "1 second"], tail: "1 minute" },
        jitter: { factor: 0.25 },
        maxRetries: 7,
        budget: { total: "90 minutes", clip: true },
        measure: "wall-clock",
        maxDelay: "30 minutes",
        hints: false,
        requestTimeout: { firstContent: "20 seconds", idle: "5 seconds" },
        maxResponseCharacters: 1_000,
        reasons: {
          "rate-limited": {
            schedule: { type: "linear", base: "2 seconds" },
            hint: "replace",
            atLeast: "1 second",
            atMost: "1 minute"
          },
          "invalid-response": { schedule: "none", hint: "ignore" }
        },
        counts: "attempts",
        routing: {
          type: "fallback-chain",
          chains: { default: ["openai/gpt-5", "openrouter/x/y"], "anthropic/a": [] },
          revert: "never",
          cooldown: "1 minute"
        },
        maxTurns: 4,
        midStream: "unseen",
        maxFailedToolSteps: 0,
        finalReport: { schema: { type: "object" }, description: "The answer.", contextBudget: 100_000 }
      })
    ).toEqual({
      enabled: false,
      reasons: {
        "rate-limited": {
          schedule: { type: "linear", baseMs: 2_000, incrementMs: 2_000 },
          hint: "replace",
          leastMs: 1_000,
          mostMs: 60_000
        },
        "invalid-response": { schedule: "none", hint: "ignore" }
      },
      counts: "attempts",
      routing: {
        type: "fallback-chain",
        chains: {
          default: [
            { provider: "openai", model: "gpt-5" },
            { provider: "openrouter", model: "x/y" }
          ],
          "anthropic/a": []
        },
        revert: "never",
        cooldownMs: 60_000
      },
      maxTurns: 4,
      midStream: "unseen",
      maxFailedToolSteps: 0,
      finalReport: { schema: { type: "object" }, description: "The answer.", contextBudget: 100_000 },
      schedule: { type: "steps", delaysMs: [100, 1_000], tailMs: 60_000 },
      jitter: { factor: 0.25 },
      maxRetries: 7,
      budget: { totalMs: 5_400_000, measure: "wall-clock", clip: true },
      maxDelayMs: 1_800_000,
      hints: false,
      requestTimeout: { firstContentMs: 20_000, idleMs: 5_000 },
      maxResponseCharacters: 1_000
    })
  })

  it("fields that a primitive leaves out keep the profile's value, or have a plain default", () => {
    expect(resolve({ schedule: { type: "steps", delays: ["1 second"] } }).schedule).toMatchObject({
      delaysMs: [1_000],
      tailMs: 1_000
    })
    expect(resolve({ schedule: { type: "steps", delays: ["1 second", "2 seconds"] } }).schedule).toMatchObject({
      tailMs: 2_000
    })
    expect(resolve({ schedule: { type: "exponential", base: "1 second" } }).schedule).toMatchObject({ factor: 2 })
    expect(resolve({ schedule: { type: "linear", base: "1 second" } }).schedule).toMatchObject({ incrementMs: 1_000 })
    expect(resolve({ budget: { clip: true } }).budget.totalMs).toBe(28_800_000)
    expect(resolve({ requestTimeout: { idle: "1 second" } }).requestTimeout.firstContentMs).toBe(600_000)
    expect(resolve({ jitter: "none" }).jitter).toEqual({ factor: 0 })
  })

  it("a bare duration is a budget's total, and Infinity is no limit", () => {
    expect(resolve({ budget: "30 minutes" }).budget.totalMs).toBe(1_800_000)
    expect(resolve({ budget: "Infinity" }).budget.totalMs).toBeUndefined()
  })

  it("rule P3: a maxDelay of 0 or less, or Infinity, switches the cap off", () => {
    for (const maxDelay of ["0 millis", "-1 second", "Infinity"]) {
      expect(resolve({ profile: "interactive", maxDelay }).maxDelayMs).toBe(0)
    }
  })
})

describe("errors", () => {
  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ["an unknown key", { retries: 3 }, 'Expected no excess property\n  at ["retries"]'],
    [
      "an unknown key further in",
      { budget: { total: "8 hours", clap: true } },
      'Expected no excess property\n  at ["budget"]["clap"]'
    ],
    [
      "an unknown profile",
      { profile: "eager" },
      'Expected "overnight", "weekly", "interactive" or "cycling"\n  at ["profile"]'
    ],
    [
      "an unknown routing",
      { routing: { type: "random" } },
      'Expected a routing: an object whose "type" is "fallback-chain" or "round-robin"\n  at ["routing"]'
    ],
    [
      "a mistyped target",
      { routing: { type: "fallback-chain", chains: { default: ["openai/gpt-5", "gpt-5"] } } },
      'Expected a provider and a model, such as "openai/gpt-5"\n  at ["routing"]["chains"]["default"][1]'
    ],
    [
      "a chain of nobody",
      { routing: { type: "fallback-chain", chains: { defualt: [] } } },
      'Expected a provider and a model, such as "openai/gpt-5", or "default" for every other primary\n  at ["routing"]["chains"]["defualt"]'
    ],
    [
      "a target that is there twice",
      { routing: { type: "round-robin", targets: ["a/b", "c/d", "a/b"] } },
      'Expected each target once; "a/b" is there before\n  at ["routing"]["targets"][2]'
    ],
    [
      "a key of the other routing",
      { routing: { type: "round-robin", revert: "never" } },
      'Expected no excess property\n  at ["routing"]["revert"]'
    ],
    [
      "no cooldown",
      { routing: { type: "fallback-chain", cooldown: "0 seconds" } },
      'Expected a finite duration of at least 1 millisecond\n  at ["routing"]["cooldown"]'
    ],
    [
      "an unknown reason",
      { reasons: { ratelimited: {} } },
      `Expected a reason: one of ${Failure.Reason.literals.join(", ")}\n  at ["reasons"]["ratelimited"]`
    ],
    [
      "an unknown schedule of a reason",
      { reasons: { network: { schedule: "never" } } },
      'Expected "none", or a schedule: an object whose "type" is "steps", "exponential" or "linear"\n  at ["reasons"]["network"]["schedule"]'
    ],
    [
      "bounds the wrong way round",
      { reasons: { network: { atLeast: "1 minute", atMost: "1 second" } } },
      'Expected atMost to be no shorter than atLeast\n  at ["reasons"]["network"]["atMost"]'
    ],
    ["a turn without steps", { maxTurns: 0 }, 'Expected a value greater than or equal to 1\n  at ["maxTurns"]'],
    [
      "a report without a shape",
      { finalReport: { description: "The answer." } },
      'Missing key\n  at ["finalReport"]["schema"]'
    ],
    [
      "an unknown unit",
      { maxDelay: "5 parsecs" },
      'Expected a duration such as "30 minutes", "8 hours" or "100 millis"\n  at ["maxDelay"]'
    ],
    [
      "a number without a unit",
      { requestTimeout: { idle: 5000 } },
      'Expected a string such as "30 minutes" or "100 millis"\n  at ["requestTimeout"]["idle"]'
    ],
    [
      "a wrong step among right ones",
      { schedule: { type: "steps", delays: ["5 seconds", "ten seconds"] } },
      'Expected a duration such as "30 minutes", "8 hours" or "100 millis"\n  at ["schedule"]["delays"][1]'
    ],
    [
      "a response of nothing",
      { maxResponseCharacters: 0 },
      'Expected a number of characters from 1 to 268435456\n  at ["maxResponseCharacters"]'
    ],
    [
      "a response that no memory holds",
      { maxResponseCharacters: 268_435_457 },
      'Expected a number of characters from 1 to 268435456\n  at ["maxResponseCharacters"]'
    ],
    [
      "an unknown schedule",
      { schedule: { type: "fibonacci" } },
      'Expected a schedule: an object whose "type" is "steps", "exponential" or "linear"\n  at ["schedule"]'
    ],
    [
      "no steps",
      { schedule: { type: "steps", delays: [] } },
      'Expected at least one delay\n  at ["schedule"]["delays"]'
    ],
    [
      "a last step of nothing",
      { schedule: { type: "steps", delays: ["1 second", "0 seconds"] } },
      'Expected a tail, because the last delay is 0 and would be repeated for ever\n  at ["schedule"]["tail"]'
    ],
    [
      "a base of nothing",
      { schedule: { type: "exponential", base: "1 nano" } },
      'Expected a finite duration of at least 1 millisecond\n  at ["schedule"]["base"]'
    ],
    [
      "a factor that shrinks",
      { schedule: { type: "exponential", base: "1 second", factor: 0.5 } },
      'Expected a factor of 1 or more\n  at ["schedule"]["factor"]'
    ],
    ["too much jitter", { jitter: { factor: 1.5 } }, 'Expected a factor from 0 to 1\n  at ["jitter"]["factor"]'],
    ["a jitter by name", { jitter: "full" }, 'Expected "none" or { "factor": 0 to 1 }\n  at ["jitter"]'],
    ["half a retry", { maxRetries: 1.5 }, 'Expected an integer\n  at ["maxRetries"]'],
    ["fewer than no retries", { maxRetries: -1 }, 'Expected a value greater than or equal to 0\n  at ["maxRetries"]'],
    [
      "a negative budget",
      { budget: { total: "-1 hour" } },
      'Expected a duration of 0 or more, or "Infinity"\n  at ["budget"]["total"]'
    ],
    [
      "a budget by number",
      { budget: 8 },
      'Expected a duration such as "8 hours", or { "total": duration, "clip": boolean }\n  at ["budget"]'
    ],
    ["an unknown measure", { measure: "cpu" }, 'Expected "scheduled" | "wall-clock"\n  at ["measure"]'],
    ["a word for a boolean", { enabled: "yes" }, 'Expected boolean\n  at ["enabled"]']
  ]

  it.each(cases)("%s is named with its path", (_name, input, message) => {
    expect(complaint(input)).toBe(message)
  })

  it("a wait whose end is beyond the range of dates is rejected", () => {
    const tooLong = "Expected a duration of 365 days at most"
    expect(complaint({ reasons: { overloaded: { atLeast: "366 days" } } })).toContain(tooLong)
    expect(complaint({ schedule: { type: "steps", delays: ["99999999999 days"] } })).toContain(tooLong)
    expect(complaint({ spendGuard: { maxTurnTokens: 1, answerWithin: "99999999999 days" } })).toContain(tooLong)
    expect(complaint({ reasons: { overloaded: { atLeast: "365 days" } }, budget: "99999 days" })).toBe("")
  })

  it("a list of too many targets is rejected before its targets are compared", () => {
    const targets = Array.from({ length: 50_000 }, (_, n) => `p/${n}`)
    for (const routing of [
      { type: "round-robin", targets },
      { type: "fallback-chain", chains: { default: targets } }
    ]) {
      expect(complaint({ routing })).toContain("Expected 100 targets at most")
    }
    expect(complaint({ routing: { type: "round-robin", targets: targets.slice(0, 100) } })).toBe("")
  })

  it("all faults are named at once", () => {
    const message = complaint({ enabled: 1, maxRetries: "3", colour: "red" })
    for (const key of ["enabled", "maxRetries", "colour"]) expect(message).toContain(`at ["${key}"]`)
  })
})

describe("the targets in settings", () => {
  it("rule P8, A4: are found with their paths, and the key of the default chain is no target", () => {
    const chains = { "a/a": ["b/b", "c/c"], default: ["d/d"] }
    expect(RetrySettings.targetNames({ routing: { type: "fallback-chain", chains } })).toEqual([
      { path: ["routing", "chains", "a/a"], name: "a/a" },
      { path: ["routing", "chains", "a/a", 0], name: "b/b" },
      { path: ["routing", "chains", "a/a", 1], name: "c/c" },
      { path: ["routing", "chains", "default", 0], name: "d/d" }
    ])
    expect(RetrySettings.targetNames({ routing: { type: "round-robin", targets: ["a/a", "b/b"] } })).toEqual([
      { path: ["routing", "targets", 0], name: "a/a" },
      { path: ["routing", "targets", 1], name: "b/b" }
    ])
    expect(RetrySettings.targetNames({})).toEqual([])
  })
})
