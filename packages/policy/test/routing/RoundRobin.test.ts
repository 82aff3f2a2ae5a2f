import { describe, expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { Routes, Standing } from "../../src/index.ts"
import { asking, failure, HOUR, RoutedStep, START } from "./RoutedStep.ts"

const cycling = (targets: ReadonlyArray<string>, over: object = {}) => ({
  profile: "cycling",
  routing: { type: "round-robin", targets },
  ...over
})

const three = (over: object = {}) =>
  new RoutedStep({ settings: cycling(["a/a", "b/b", "c/c"], { maxRetries: 20, ...over }), primary: "a/a" })

const limited = failure("rate-limited", { status: 429 })

/** A step that begins and then fails like this. */
const goes = (rig: RoutedStep, ...failures: ReadonlyArray<Failure.Failure>): ReadonlyArray<string> => {
  rig.begin()
  return failures.map((failure) => rig.fails(failure))
}

describe("attempts", () => {
  it("rule A2: 3 are 3 attempts and 2 retries", () => {
    const rig = new RoutedStep({ settings: cycling(["a/a", "b/b"]), primary: "a/a" })
    const auth = failure("auth", { status: 401 })
    expect(goes(rig, auth, auth, auth)).toEqual(["at once on b/b", "at once on a/a", "gave up: exhausted"])
  })

  it("rule A2, A5: no sleep when no attempt is left", () => {
    const rig = new RoutedStep({ settings: cycling([], { maxRetries: 1 }), primary: "a/a" })
    expect(goes(rig, limited)).toEqual(["gave up: exhausted"])
    expect(rig.last).toMatchObject({ basis: { because: "max-retries" } })
  })
})

describe("kinds of failures", () => {
  it("rule A3: a rejected key, a used-up quota and any other HTTP status skip to the next target at once", () => {
    for (const failed of [
      failure("auth"),
      failure("quota-exhausted"),
      failure("server-error", { status: 500 }),
      failure("overloaded", { status: 529 }),
      failure("timeout", { status: 504 }),
      failure("bad-request", { status: 400 })
    ]) {
      expect(goes(three(), failed)).toEqual(["at once on b/b"])
    }
  })

  it("rule A3: an error of the model that is not retryable skips; a retryable one retries the same target at once", () => {
    expect(goes(three(), failure("refused"))).toEqual(["at once on b/b"])
    expect(goes(three(), failure("model-unavailable"))).toEqual(["at once on b/b"])
    expect(goes(three(), failure("overloaded"))).toEqual(["at once on a/a"])
    expect(goes(three(), failure("server-error", { status: 200 }))).toEqual(["at once on a/a"])
  })

  it("rule A7: network and timeout wait a second more each time, up to 30 s, on the same target", () => {
    const waits = goes(three(), ...Array.from({ length: 4 }, () => failure("network")), failure("timeout"))
    expect(waits).toEqual([1, 2, 3, 4, 5].map((seconds) => `${seconds}000 ms on a/a`))
    const late = three({ maxRetries: 100 })
    late.begin()
    late.retries = 60
    expect(late.fails(failure("timeout"))).toBe("30000 ms on a/a")
  })

  it("rule A7: an invalid response has no wait", () => {
    expect(goes(three(), failure("invalid-response"))).toEqual(["at once on a/a"])
  })

  it("rule M3, A7: an abort of a proxy counts as a network fault", () => {
    expect(goes(three(), failure("aborted"))).toEqual(["1000 ms on a/a"])
  })
})

describe("the cycle", () => {
  it("rule A4: targets[cursor mod length], moved only by skips and rate limits", () => {
    const skip = failure("server-error", { status: 500 })
    expect(goes(three(), skip, failure("network"), skip, limited, skip)).toEqual([
      "at once on b/b",
      "2000 ms on b/b",
      "at once on c/c",
      "at once on a/a",
      "at once on b/b"
    ])
  })

  it("rule A5: moves on while a target is not limited, and sleeps the longest wait seen once all are", () => {
    const rig = three()
    expect(goes(rig, asking("rate-limited", 9_000), asking("rate-limited", 4_000), limited, limited)).toEqual([
      "at once on b/b",
      "at once on c/c",
      "9000 ms on a/a",
      "at once on b/b" // a new cycle
    ])
  })

  it("rule A5: the next cycle sleeps the longest of its own waits", () => {
    const rig = new RoutedStep({ settings: cycling(["a/a", "b/b"], { maxRetries: 20 }), primary: "a/a" })
    const asked = [30_000, 2_000, 3_000, 4_000].map((ms) => asking("rate-limited", ms))
    expect(goes(rig, ...asked)).toEqual(["at once on b/b", "30000 ms on a/a", "at once on b/b", "4000 ms on a/a"])
  })

  it("rule A5: a success clears the cycle", () => {
    const rig = three()
    goes(rig, limited, limited)
    expect(goes(rig, limited)).toEqual(["at once on b/b"])
  })

  it("rule A6: a provider's own wait is clamped to 1 s..60 s; without one it is a second more with each attempt", () => {
    const alone = (...failures: ReadonlyArray<Failure.Failure>) =>
      goes(new RoutedStep({ settings: cycling([], { maxRetries: 100 }), primary: "a/a" }), ...failures)
    expect(alone(asking("rate-limited", 10), asking("rate-limited", HOUR), asking("rate-limited", 7_000))).toEqual([
      "1000 ms on a/a",
      "60000 ms on a/a",
      "7000 ms on a/a"
    ])
    expect(alone(limited, limited, limited)).toEqual(["1000 ms on a/a", "2000 ms on a/a", "3000 ms on a/a"])
    expect(alone(...Array.from({ length: 80 }, () => limited)).at(-1)).toBe("60000 ms on a/a")
  })

  it("rule A4: a step begins at its primary, and a primary that is not among the targets comes first", () => {
    const settings = cycling(["a/a", "b/b", "c/c"], { maxRetries: 20 })
    const skip = failure("auth")
    const inside = new RoutedStep({ settings, primary: "b/b" })
    expect([inside.begin(), inside.fails(skip), inside.fails(skip)]).toEqual([
      "b/b",
      "at once on c/c",
      "at once on a/a"
    ])
    const outside = new RoutedStep({ settings, primary: "d/d" })
    expect([outside.begin(), outside.fails(skip)]).toEqual(["d/d", "at once on a/a"])
  })

  it("rule A4: a target that the request does not fit is skipped", () => {
    const settings = cycling(["a/a", "b/b", "c/c"])
    const rig = new RoutedStep({ settings, primary: "a/a", models: { "b/b": { tools: false } }, tools: 1 })
    expect(goes(rig, failure("auth"))).toEqual(["at once on c/c"])
  })

  it("rule P7, A3: a used-up credential is skipped, and in the target's next round another one is used", () => {
    const settings = cycling(["a/a", "b/b"])
    const rig = new RoutedStep({ settings, primary: "a/a", credentials: { a: ["first", "second"] } })
    expect(goes(rig, asking("quota-exhausted", HOUR), failure("auth"))).toEqual([
      "at once on b/b",
      "at once on a/a#second"
    ])
    expect(rig.standing.credentials["a/first"]?.pauses[0]?.until).toBe(START + HOUR)
  })
})

describe("without a limit of retries", () => {
  const endless = { profile: "overnight", routing: { type: "round-robin", targets: ["a/a", "b/b"] } }

  it("rule A15: a round without a wait is followed by the schedule's", () => {
    const rig = new RoutedStep({ settings: endless, primary: "a/a" })
    const skip = failure("overloaded", { status: 529 })
    expect(goes(rig, skip, skip, skip, skip)).toEqual([
      "at once on b/b",
      "10000 ms on a/a",
      "at once on b/b",
      "60000 ms on a/a"
    ])
  })

  it("rule P5: the wait after a round follows its target's hint, and not that of another target", () => {
    const rig = new RoutedStep({ settings: endless, primary: "a/a" })
    const skip = failure("overloaded", { status: 529 })
    const asks = { ...asking("overloaded", HOUR), status: 529 }
    expect(goes(rig, skip, asks)).toEqual(["at once on b/b", "10000 ms on a/a"])
    const alone = new RoutedStep({
      settings: { ...endless, routing: { type: "round-robin", targets: [] } },
      primary: "a/a"
    })
    expect(goes(alone, asks)).toEqual([`${HOUR} ms on a/a`])
  })

  it("rule A7, A15: a wait during a round begins the round anew", () => {
    const rig = new RoutedStep({ settings: endless, primary: "a/a" })
    const skip = failure("overloaded", { status: 529 })
    expect(goes(rig, skip, failure("network"), skip, skip)).toEqual([
      "at once on b/b",
      "10000 ms on b/b",
      "at once on a/a",
      "60000 ms on b/b"
    ])
  })

  it("rule D3: a failure that may pass counts only for its own round", () => {
    const rig = new RoutedStep({ settings: endless, primary: "a/a" })
    const auth = failure("auth")
    expect(goes(rig, failure("overloaded", { status: 529 }), auth, auth, auth)).toEqual([
      "at once on b/b",
      "10000 ms on a/a",
      "at once on b/b",
      "gave up: not-retryable"
    ])
  })

  it("rule A5: a rule without a wait makes none once all are limited", () => {
    const reasons = { "rate-limited": { schedule: "none", maxRetries: 5 } }
    const rig = new RoutedStep({ settings: { ...endless, reasons }, primary: "a/a" })
    expect(goes(rig, limited, limited, limited)).toEqual(["at once on b/b", "at once on a/a", "at once on b/b"])
    expect(rig.sleptMs).toBe(0)
  })

  it("rule D3: a round in which every failure was final is the last", () => {
    const rig = new RoutedStep({ settings: endless, primary: "a/a" })
    expect(goes(rig, failure("auth"), failure("auth"))).toEqual(["at once on b/b", "gave up: not-retryable"])
    const mixed = new RoutedStep({ settings: endless, primary: "a/a" })
    expect(goes(mixed, failure("overloaded", { status: 529 }), failure("auth"))).toEqual([
      "at once on b/b",
      "10000 ms on a/a"
    ])
  })
})

describe("Routes", () => {
  it("rule P15: if a person has switched retries off, a retryable failure has that reason, and any other its own", () => {
    const rig = new RoutedStep({ settings: {}, primary: "a/a" })
    const spent = { sleptMs: 0, elapsedMs: 0, spread: 0 }
    const situation = { contentSeen: false, retries: 0, defects: 0, spent, now: START }
    expect(Routes.switchedOff(rig.policy, { ...situation, failure: limited })).toMatchObject({
      because: "exhausted",
      basis: { because: "switched-off" }
    })
    expect(Routes.switchedOff(rig.policy, { ...situation, failure: failure("auth") })).toEqual({
      _tag: "GiveUp",
      because: "not-retryable"
    })
  })
})

describe("the findings", () => {
  it("rule P7: only a used-up quota is stored, and only if the provider has credentials", () => {
    const credentials = { a: ["first", "second"] }
    const settings = cycling(["a/a", "b/b"], { maxRetries: 20 })
    for (const failed of [asking("rate-limited", HOUR), failure("auth"), failure("overloaded", { status: 529 })]) {
      const rig = new RoutedStep({ settings, primary: "a/a", credentials })
      goes(rig, failed)
      expect(rig.standing).toEqual(Standing.empty)
    }
    const bare = new RoutedStep({ settings, primary: "a/a" })
    expect(goes(bare, asking("quota-exhausted", HOUR))).toEqual(["at once on b/b"])
    expect(bare.standing).toEqual(Standing.empty)
  })
})

describe("the record of a decision", () => {
  it("rule X9: records whether the retry goes to the same target or to another one", () => {
    const because = (failed: Failure.Failure) => {
      const rig = three()
      goes(rig, failed)
      return rig.last
    }
    expect(because(failure("overloaded"))).toMatchObject({ basis: { because: "same-target" } })
    expect(because(failure("auth"))).toMatchObject({ basis: { because: "other-target" } })
  })

  it("rule X9: records which targets were tried in the cycle", () => {
    const rig = three()
    rig.begin()
    const had = () => {
      rig.fails(limited)
      const { basis } = rig.last as { readonly basis?: { readonly ways?: ReadonlyArray<object> } }
      return basis?.ways?.map((way) => "had" in way)
    }
    expect([had(), had(), had()]).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, false]
    ])
  })
})
