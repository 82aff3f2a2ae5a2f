import { describe, expect, it } from "@effect/vitest"
import { type Models, Standing } from "../../src/index.ts"
import { asking, failure, HOUR, MINUTE, RoutedStep, SECOND, START, target } from "./RoutedStep.ts"

const chain = (chains: Record<string, ReadonlyArray<string>>, over: object = {}) => ({
  type: "fallback-chain",
  chains,
  ...over
})

const overloaded = failure("overloaded", { status: 529 })

const toB = { profile: "interactive", routing: chain({ default: ["b/b"] }) }
const toBC = { profile: "interactive", maxRetries: 10, routing: chain({ default: ["b/b", "c/c"] }) }

describe("credentials", () => {
  const credentials = { a: ["first", "second", "third"] }
  const alone = { settings: { profile: "interactive" }, primary: "a/a", credentials }

  it("rule P7: a used-up quota limits its credential until its reset, and another one continues without a wait", () => {
    const rig = new RoutedStep(alone)
    rig.begin()
    expect(rig.fails(asking("quota-exhausted", 5 * HOUR))).toBe("at once on a/a#second")
    const pause = {
      until: START + 5 * HOUR,
      reason: "quota-exhausted",
      retryable: true,
      askedUntil: START + 5 * HOUR,
      since: START
    }
    expect(rig.standing).toEqual({
      ...Standing.empty,
      credentials: { "a/first": { pauses: [pause] } },
      models: { "a/first/a": { pauses: [pause] } }
    })
  })

  it("rule P7: a quota without a named reset limits for an hour, and another credential continues although it is not retryable (C2)", () => {
    const rig = new RoutedStep(alone)
    rig.begin()
    expect(rig.fails(failure("quota-exhausted"))).toBe("at once on a/a#second")
    expect(Standing.of(rig.standing, Standing.credential("a", "first"), START)).toEqual({
      until: START + HOUR,
      reason: "quota-exhausted",
      retryable: false,
      since: START
    })
  })

  it("rule P7: a rate limit keeps its credential", () => {
    const rig = new RoutedStep(alone)
    rig.begin()
    expect(rig.fails(failure("rate-limited", { status: 429 }))).toBe("2000 ms on a/a")
    expect(rig.standing.credentials).toEqual({})
  })

  it("rule P7: a later step keeps the credential that works, until the first one's limit is over", () => {
    const rig = new RoutedStep(alone)
    rig.begin()
    rig.fails(asking("quota-exhausted", HOUR))
    rig.now += 2 * HOUR
    expect(rig.begin()).toBe("a/a#second") // its prompt cache is warm
    expect(new RoutedStep({ ...alone, standing: rig.standing }).begin()).toBe("a/a#second") // another runner
  })

  it("rule P7: when all are used up, the wait is for the reset that comes first", () => {
    const rig = new RoutedStep({ ...alone, settings: { profile: "overnight" } })
    rig.begin()
    rig.fails(asking("quota-exhausted", 5 * HOUR))
    rig.fails(asking("quota-exhausted", 2 * HOUR))
    expect(rig.fails(asking("quota-exhausted", 7 * HOUR))).toBe(`${2 * HOUR} ms on a/a#second`)
  })

  it("rule P7: for limits of any length, no credential is left twice without a wait between", () => {
    const rig = new RoutedStep({ ...alone, credentials: { a: ["first", "second"] } })
    rig.begin()
    const slow = () => {
      rig.now += SECOND // longer than the limit
      return rig.fails(asking("quota-exhausted", 1))
    }
    expect([slow(), slow(), slow()]).toEqual(["at once on a/a#second", "4000 ms on a/a", "at once on a/a#second"])
  })

  it("rule C2: when the last one is used up and none has a reset, the step ends", () => {
    const rig = new RoutedStep({
      ...alone,
      settings: { profile: "overnight" },
      credentials: { a: ["first", "second"] }
    })
    rig.begin()
    rig.fails(failure("quota-exhausted"))
    expect(rig.fails(failure("quota-exhausted"))).toBe("gave up: not-retryable")
  })
})

describe("a failure that is another turn's", () => {
  it.each([
    { ...toB, reason: "overloaded", credentials: {} },
    { ...toB, reason: "quota-exhausted", credentials: { a: ["first", "second"] } },
    {
      profile: "cycling",
      routing: { type: "round-robin", targets: ["a/a", "b/b"] },
      reason: "quota-exhausted",
      credentials: { a: ["first"], b: ["first"] }
    }
  ] as const)(
    "rule P7, P8, X5: $profile, $reason: limits nothing and prolongs nothing, and the turn goes on where its own would send it",
    ({ credentials, reason, ...settings }) => {
      const at = (shared: object) => {
        const rig = new RoutedStep({ settings, primary: "a/a", credentials })
        rig.begin()
        const next = rig.fails({ ...asking(reason, HOUR), ...shared })
        return { next, standing: rig.standing }
      }
      const own = at({})
      expect(own.standing).not.toEqual(Standing.empty)
      expect(at({ shared: true })).toEqual({ next: own.next, standing: Standing.empty })
    }
  )
})

describe("the scope of a limit", () => {
  const key = { a: ["only"] }
  const overnight = (chains: Record<string, ReadonlyArray<string>>) => ({
    profile: "overnight",
    routing: chain(chains)
  })

  it("rule C12: after one model's quota the failure of another waits by the schedule, not by the first model's hint", () => {
    for (const profile of ["overnight", "interactive"]) {
      const settings = { profile, routing: chain({ "g/pro": ["g/flash"] }) }
      const pro = new RoutedStep({ settings, primary: "g/pro", credentials: { g: ["KEY"] } })
      pro.begin()
      pro.fails(asking("quota-exhausted", 3 * HOUR))
      const flash = new RoutedStep({
        settings,
        primary: "g/flash",
        credentials: { g: ["KEY"] },
        standing: pro.standing
      })
      flash.now += 376
      flash.begin()
      expect(flash.fails(failure("overloaded", { status: 503 }))).toBe(
        `${profile === "overnight" ? 5_000 : 2_000} ms on g/flash`
      )
      expect(flash.last).not.toHaveProperty("basis.hintMs")
    }
  })

  it("rule C12, P8: another model of a used-up credential is still tried, once a limit", () => {
    const rig = new RoutedStep({
      settings: overnight({ default: ["a/small", "b/b"] }),
      primary: "a/big",
      credentials: key
    })
    rig.begin()
    expect(rig.fails(asking("quota-exhausted", HOUR))).toBe("at once on a/small")
    expect(rig.fails(asking("quota-exhausted", HOUR))).toBe("at once on b/b")
    rig.now += 30 * MINUTE
    expect(rig.begin()).toBe("b/b") // both have met the limit
    rig.now += 31 * MINUTE
    expect(rig.begin()).toBe("a/big")
  })

  it("rule C12, P8: no model is tried if the error has named the account", () => {
    const options = { settings: overnight({ default: ["a/small", "b/b"] }), primary: "a/big", credentials: key }
    for (const reason of ["quota-exhausted", "rate-limited"] as const) {
      const rig = new RoutedStep(options)
      rig.begin()
      expect(rig.fails({ ...asking(reason, HOUR), scope: "account" })).toBe("at once on b/b")
    }
  })

  it("rule C12: a quota of a model limits no other model of its credential", () => {
    const rig = new RoutedStep({
      settings: overnight({ default: ["b/b"] }),
      primary: "a/big",
      credentials: { a: ["one", "two"] }
    })
    rig.begin()
    rig.fails({ ...asking("quota-exhausted", HOUR), scope: "model" })
    const { standing } = rig
    expect(standing.credentials).toEqual({})
    const small = new RoutedStep({
      settings: overnight({}),
      primary: "a/small",
      credentials: { a: ["one", "two"] },
      standing
    })
    expect(small.begin()).toBe("a/small")
  })

  it("rule C12: a rate limit is the model's of its credential, and a new turn takes another credential", () => {
    const credentials = { a: ["one", "two"] }
    const rig = new RoutedStep({ settings: overnight({ default: ["b/b"] }), primary: "a/a", credentials })
    rig.begin()
    expect(rig.fails(asking("rate-limited", HOUR))).toBe("at once on b/b")
    const { standing } = rig
    expect(standing.targets).toEqual({})
    expect(new RoutedStep({ settings: overnight({}), primary: "a/a", credentials, standing }).begin()).toBe("a/a#two")
    expect(new RoutedStep({ settings: overnight({}), primary: "a/b", credentials, standing }).begin()).toBe("a/b")
  })

  it("rule C12: without fallbacks a rate limit is stored only if the provider has another credential", () => {
    const pausesOf = (names: ReadonlyArray<string>, chains: Record<string, ReadonlyArray<string>> = {}) => {
      const rig = new RoutedStep({ settings: overnight(chains), primary: "a/a", credentials: { a: names } })
      rig.begin()
      rig.fails(asking("rate-limited", HOUR))
      return Object.keys(rig.standing.models)
    }
    expect(pausesOf(["one"])).toEqual([])
    expect(pausesOf(["one", "two"])).toEqual(["a/one/a"])
    expect(pausesOf(["one"], { default: ["b/b"] })).toEqual(["a/one/a"])
  })

  it("rule C12, P7: a success ends the older pauses of the things it used, and keeps those of other models", () => {
    const rig = new RoutedStep({ settings: overnight({ default: ["a/small"] }), primary: "a/big", credentials: key })
    rig.begin()
    rig.fails(asking("quota-exhausted", HOUR))
    rig.answers()
    expect(Standing.of(rig.standing, Standing.credential("a", "only"), rig.now)).toBeUndefined()
    expect(Standing.of(rig.standing, Standing.model(target("a/big"), "only"), rig.now)?.until).toBe(START + HOUR)
    rig.now += 10 * MINUTE
    expect(rig.begin()).toBe("a/small")
    rig.current = { target: target("a/big") } // a person insists, and is answered
    rig.answers()
    expect(rig.begin()).toBe("a/big")
  })

  it("rule C12, P7: with several credentials each is tried for each model", () => {
    const credentials = { a: ["one", "two"] }
    const rig = new RoutedStep({ settings: overnight({ default: ["a/small", "b/b"] }), primary: "a/big", credentials })
    rig.begin()
    const used = () => rig.fails(asking("quota-exhausted", HOUR))
    expect([used(), used(), used(), used()]).toEqual([
      "at once on a/big#two",
      "at once on a/small#two", // its prompt cache is warm there
      "at once on a/small",
      "at once on b/b"
    ])
  })
})

describe("cooldowns", () => {
  it("rule P8: the target that failed cools down for 5 minutes, and the next of its chain takes over without a wait", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    expect(rig.begin()).toBe("a/a")
    expect(rig.fails(overloaded)).toBe("at once on b/b")
    expect(rig.current?.role).toBe("default")
    expect(rig.standing.targets).toEqual({
      "a/a": { pauses: [{ until: START + 5 * MINUTE, reason: "overloaded", retryable: true, since: START }] }
    })
  })

  it("rule P8: a hint lengthens the cooldown, and never shortens it", () => {
    for (const [hint, until] of [
      [HOUR, HOUR],
      [SECOND, 5 * MINUTE]
    ] as const) {
      const rig = new RoutedStep({ settings: toB, primary: "a/a" })
      rig.begin()
      rig.fails(asking("overloaded", hint))
      expect(Standing.of(rig.standing, Standing.target(target("a/a")), START)?.until).toBe(START + until)
    }
  })

  it("rule P8: a target that cools down by the findings of other turns is skipped", () => {
    const rig = new RoutedStep({ settings: toBC, primary: "a/a" })
    rig.begin()
    rig.standing = Standing.paused(Standing.target(target("b/b")), {
      until: START + MINUTE,
      reason: "timeout",
      retryable: true
    })
    expect(rig.fails(overloaded)).toBe("at once on c/c")
  })

  it("rule P8: the chain of the primary itself comes before the default one, and an empty one is none", () => {
    const settings = { profile: "interactive", routing: chain({ default: ["b/b"], "a/a": ["c/c"], "d/d": [] }) }
    const ofA = new RoutedStep({ settings, primary: "a/a" })
    ofA.begin()
    expect(ofA.fails(overloaded)).toBe("at once on c/c")
    expect(ofA.current?.role).toBe("a/a")
    const ofD = new RoutedStep({ settings, primary: "d/d" })
    ofD.begin()
    expect(ofD.fails(overloaded)).toBe("2000 ms on d/d")
  })

  it("rule P8: a wrong key or a missing model is a fault of the target too", () => {
    for (const reason of ["auth", "model-unavailable", "quota-exhausted"] as const) {
      const rig = new RoutedStep({ settings: toB, primary: "a/a" })
      rig.begin()
      expect(rig.fails(failure(reason))).toBe("at once on b/b")
    }
  })

  it("rule P8: a fault of the request causes no switch", () => {
    for (const reason of ["bad-request", "refused", "context-overflow"] as const) {
      const rig = new RoutedStep({ settings: toB, primary: "a/a", credentials: { a: ["first", "second"] } })
      rig.begin()
      expect(rig.fails(failure(reason))).toBe("gave up: not-retryable")
      expect(rig.fails(failure(reason, { retryable: true }))).toBe("2000 ms on a/a")
      expect(rig.standing).toEqual(Standing.empty)
    }
  })

  it("rule A9, P8: a rejected response is retried on the same target", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    rig.begin()
    expect(rig.fails(failure("invalid-response"), { whole: true })).toBe("2000 ms on a/a")
    expect(rig.standing).toEqual(Standing.empty)
    expect(rig.fails(failure("invalid-response"))).toBe("at once on b/b")
  })

  it("rule M3, P8: an abort of a proxy counts as a network fault", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    rig.begin()
    expect(rig.fails(failure("aborted"))).toBe("at once on b/b")
  })

  it("rule P8: with no free target the schedule's wait follows, and then the target whose cooldown ends first", () => {
    const rig = new RoutedStep({ settings: toBC, primary: "a/a" })
    rig.begin()
    expect(rig.fails(overloaded)).toBe("at once on b/b")
    expect(rig.fails(overloaded)).toBe("at once on c/c")
    // Switches count: this is the third retry, with the third delay of 2, 4, 8 s.
    expect(rig.fails(overloaded)).toBe("8000 ms on a/a")
    expect(rig.fails(overloaded)).toBe("16000 ms on b/b")
  })

  it("rule P8: the wait goes to the primary if its cooldown is over by then", () => {
    const settings = { ...toB, maxRetries: 10, routing: chain({ default: ["b/b"] }, { cooldown: "3 seconds" }) }
    const rig = new RoutedStep({ settings, primary: "a/a" })
    rig.begin()
    rig.fails(overloaded)
    expect(rig.fails(overloaded)).toBe("4000 ms on a/a")
  })

  it("rule P5, P8: a hint of hours from one target does not delay a call of another that is free in minutes", () => {
    const rig = new RoutedStep({
      settings: { profile: "overnight", routing: chain({ default: ["b/b"] }) },
      primary: "a/a"
    })
    rig.begin()
    rig.fails(overloaded)
    expect(rig.fails(asking("quota-exhausted", 7 * HOUR))).toBe("10000 ms on a/a")
  })

  it("rule P5, P8: a wait for another target follows that target's hint", () => {
    const rig = new RoutedStep({
      settings: { profile: "overnight", routing: chain({ default: ["b/b"] }) },
      primary: "a/a"
    })
    rig.begin()
    rig.fails(asking("rate-limited", HOUR))
    expect(rig.fails(asking("rate-limited", 2 * HOUR))).toBe(`${HOUR} ms on a/a`)
  })

  it("rule P8: a permanently broken fallback does not shorten a turn's retries", () => {
    const rig = new RoutedStep({
      settings: { profile: "overnight", routing: chain({ default: ["b/b"] }) },
      primary: "a/a"
    })
    rig.begin()
    expect(rig.fails(overloaded)).toBe("at once on b/b")
    expect(rig.fails(failure("auth"))).toBe("10000 ms on a/a")
    expect(rig.fails(overloaded)).toBe("30000 ms on a/a")
  })

  it("rule P8: if every target is permanently broken, the step ends", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    rig.begin()
    rig.fails(failure("auth"))
    expect(rig.fails(failure("model-unavailable"))).toBe("gave up: not-retryable")
  })

  it("rule P8: for attempts of any length, no target is left twice without a wait between", () => {
    const rig = new RoutedStep({
      settings: { profile: "overnight", routing: chain({ default: ["b/b"] }) },
      primary: "a/a"
    })
    rig.begin()
    const slow = () => {
      rig.now += 10 * MINUTE // longer than a cooldown
      return rig.fails(failure("timeout"))
    }
    expect([slow(), slow(), slow(), slow()]).toEqual([
      "at once on b/b",
      "10000 ms on a/a",
      "at once on b/b",
      "60000 ms on a/a"
    ])
  })
})

describe("limits", () => {
  it("rule P3: maxRetries counts every retry, those without a wait too", () => {
    const rig = new RoutedStep({ settings: { ...toBC, maxRetries: 2 }, primary: "a/a" })
    rig.begin()
    expect([rig.fails(overloaded), rig.fails(overloaded), rig.fails(overloaded)]).toEqual([
      "at once on b/b",
      "at once on c/c",
      "gave up: exhausted"
    ])
    expect(rig.last).toMatchObject({ basis: { _tag: "Refused", because: "max-retries" } })
  })

  it("rule P6: a wait above maxDelay fails the turn at once only if no switch is possible", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    rig.begin()
    expect(rig.fails(asking("overloaded", HOUR))).toBe("at once on b/b")
    const alone = new RoutedStep({ settings: { profile: "interactive" }, primary: "a/a" })
    alone.begin()
    expect(alone.fails(asking("overloaded", HOUR))).toBe("gave up: exhausted")
    expect(alone.last).toMatchObject({ basis: { because: "max-delay", delayMs: HOUR } })
  })

  it("rule P3: with retries disabled there is no switch", () => {
    const rig = new RoutedStep({ settings: { ...toB, enabled: false }, primary: "a/a" })
    rig.begin()
    expect(rig.fails(overloaded)).toBe("gave up: exhausted")
  })

  it("rule D2: a wall-clock budget that attempts have used up ends switches too", () => {
    const rig = new RoutedStep({ settings: { ...toB, measure: "wall-clock", budget: "1 minute" }, primary: "a/a" })
    rig.begin()
    rig.sleptMs = 2 * MINUTE
    expect(rig.fails(overloaded)).toBe("gave up: exhausted")
  })
})

describe("reverting", () => {
  const steps = (revert: string) => {
    const settings = { profile: "interactive", routing: chain({ default: ["b/b", "c/c"] }, { revert }) }
    const rig = new RoutedStep({ settings, primary: "a/a" })
    rig.begin()
    rig.fails(overloaded)
    return rig
  }

  it("rule P9: under cooldown-expiry a step begins at the primary as soon as its cooldown is over", () => {
    const rig = steps("cooldown-expiry")
    rig.now = START + 5 * MINUTE - 1
    expect(rig.begin()).toBe("b/b")
    expect(rig.current?.role).toBe("default")
    rig.now = START + 5 * MINUTE
    expect(rig.begin()).toBe("a/a")
    expect(rig.current?.role).toBeUndefined()
  })

  it("rule P9: under never it stays on its target, and continues from there", () => {
    const rig = steps("never")
    rig.now = START + HOUR
    expect(rig.begin()).toBe("b/b")
    expect(rig.fails(overloaded)).toBe("at once on c/c")
    expect(rig.fails(overloaded)).toBe("at once on a/a")
  })

  it("rule P9: if all targets cool down, a step begins on the one that is free first", () => {
    const rig = steps("cooldown-expiry")
    rig.now += MINUTE
    rig.fails(overloaded)
    rig.now += MINUTE
    rig.fails(overloaded)
    expect(rig.begin()).toBe("a/a")
  })
})

describe("capabilities", () => {
  const models = { "b/b": { contextWindow: 1_000 }, "c/c": { tools: false } }

  it("rule P8: a target whose window is too small is skipped, and the primary never is", () => {
    const options = { settings: toBC, primary: "a/a", models: { ...models, "a/a": { contextWindow: 10 } } }
    const small = new RoutedStep({ ...options, tokens: 1_000 })
    expect(small.begin()).toBe("a/a")
    expect(small.fails(overloaded)).toBe("at once on b/b")
    const large = new RoutedStep({ ...options, tokens: 1_001 })
    large.begin()
    expect(large.fails(overloaded)).toBe("at once on c/c")
  })

  it("rule P8: a request with tools skips a target without them", () => {
    const rig = new RoutedStep({ settings: toBC, primary: "a/a", models, tokens: 5_000, tools: 1 })
    rig.begin()
    expect(rig.fails(overloaded)).toBe("2000 ms on a/a")
    expect(rig.last).toMatchObject({
      basis: {
        ways: [
          { target: "a/a", until: START + 5 * MINUTE },
          { target: "b/b", unfit: "context" },
          { target: "c/c", unfit: "tools" }
        ]
      }
    })
  })

  it("rule P8: a prompt with a file skips a target that does not take it, the primary too if another one does", () => {
    const files = [{ type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" }] as const
    const begun = (models: Models.Models) => new RoutedStep({ settings: toBC, primary: "a/a", models, files }).begin()
    expect(begun({ "b/b": { files: false } })).toBe("a/a")
    expect(begun({ "a/a": { files: false } })).toBe("b/b")
    expect(begun({ "a/a": { files: ["application/pdf"] }, "b/b": { files: [] } })).toBe("c/c")
    expect(begun({ "a/a": { files: ["image/*"] } })).toBe("a/a")
    expect(begun({ "a/a": { files: false }, "b/b": { files: false }, "c/c": { files: false } })).toBe("a/a")
    const rig = new RoutedStep({ settings: toBC, primary: "a/a", models: { "a/a": { files: false } }, files })
    rig.begin()
    expect(rig.fails(overloaded)).toBe("at once on c/c")
    expect(rig.last).toMatchObject({
      basis: { ways: [{ target: "b/b" }, { target: "c/c" }, { target: "a/a", unfit: "files" }] }
    })
  })

  it("rule X9: a switch records the considered targets, and the reasons against them", () => {
    const rig = new RoutedStep({ settings: toB, primary: "a/a" })
    rig.begin()
    rig.fails(overloaded)
    expect(rig.last).toMatchObject({
      delayMs: 0,
      retryAt: START,
      route: { target: target("b/b"), role: "default" },
      basis: {
        _tag: "AtOnce",
        because: "other-target",
        routing: "fallback-chain",
        ways: [{ target: "a/a", until: START + 5 * MINUTE }, { target: "b/b" }]
      }
    })
  })
})
