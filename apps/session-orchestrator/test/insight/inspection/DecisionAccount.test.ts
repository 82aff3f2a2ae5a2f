/** Tests what `holdfast explain` and dry runs read out of a recorded decision, its numbers and rules, at the edges of possible records. */
import { assert, describe, it } from "@effect/vitest"
import type { Directive } from "@holdfast/kernel"
import type { Basis } from "@holdfast/policy"
import { defined, type Failure } from "@holdfast/wire"
import * as DecisionAccount from "../../../src/insight/inspection/DecisionAccount.ts"

const failure: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const spent = { sleptMs: 7, elapsedMs: 11 }
const limits = { schedule: "steps", measure: "scheduled" } as const

type Delay = Extract<Basis.Basis, { readonly _tag: "Delay" }>
type AtOnce = Extract<Basis.Basis, { readonly _tag: "AtOnce" }>
type Refused = Extract<Basis.Basis, { readonly _tag: "Refused" }>
type Retry = Extract<Directive.Directive, { readonly _tag: "Retry" }>

/** A retry by this basis, as it is explained. */
const retried = (basis: Partial<Delay>, directive: Partial<Retry> = {}, failed = failure) => {
  const whole: Delay = { _tag: "Delay", delayMs: 50, scheduledMs: 50, spent, ...basis }
  return DecisionAccount.of(
    { _tag: "Retry", attempt: 0, delayMs: whole.delayMs, retryAt: 1_000, basis: whole, ...directive },
    failed
  )
}

/** A retry that a limit refused, as it is explained. */
const refused = (basis: Partial<Refused>) =>
  DecisionAccount.of(
    { _tag: "GiveUp", because: "exhausted", basis: { _tag: "Refused", because: "budget", spent, ...basis } },
    failure
  )

const PLAIN = { type: "retry", retry: 0, decidedAt: 950, delayMs: 50, retryAt: 1_000 } as const

describe("the numbers and rules of a decision", () => {
  it("rule P5: name the provider's delay as the rule if it is the longer one", () => {
    const rules = (hintMs: number | undefined) => retried({ limits, ...defined({ hintMs }) }).rules
    assert.deepStrictEqual(rules(undefined), ["D3", "D1"])
    assert.deepStrictEqual(rules(50), ["D3", "D1"])
    assert.deepStrictEqual(retried({ delayMs: 0, scheduledMs: 0, limits }).rules, ["D3", "D1"])
    assert.deepStrictEqual(rules(51), ["D3", "P5"])
    assert.deepStrictEqual(retried({ hintMs: 51, byReason: true, limits }).rules, ["D3", "X11"])
  })

  it("rule A6: leave out a provider's delay that replaced a longer schedule", () => {
    const kept = (basis: Partial<Delay>) => {
      const { hintMs, isEarlier, scheduledMs } = retried({
        byReason: true,
        hintMs: 50,
        scheduledMs: 51,
        isEarlier: true,
        ...basis
      }) as Partial<Delay>
      return { hintMs, isEarlier, scheduledMs }
    }
    const nothing = { hintMs: undefined, isEarlier: undefined, scheduledMs: undefined }
    assert.deepStrictEqual(kept({}), nothing)
    assert.deepStrictEqual(kept({ delayMs: 53, jitterMs: 3 }), nothing)
    assert.deepStrictEqual(kept({ clipped: false }), nothing)
    const all = { hintMs: 50, isEarlier: true as const, scheduledMs: 51 }
    assert.deepStrictEqual(kept({ scheduledMs: 50 }), { ...all, scheduledMs: 50 })
    assert.deepStrictEqual(kept({ clipped: true }), all)
    assert.deepStrictEqual(kept({ delayMs: 51 }), all)
    const { byReason: _, ...asUsual } = { byReason: true, hintMs: 50, scheduledMs: 51 }
    assert.deepInclude(retried(asUsual), asUsual)
  })

  it("have jitter and the cut of the budget, if there are any", () => {
    const plain = { ...PLAIN, scheduledMs: 50, rules: ["D3"] }
    for (const none of [{}, { jitterMs: 0, clipped: false }]) assert.deepStrictEqual(retried(none), plain)
    const some = { jitterMs: 1, clipped: true } as const
    assert.deepStrictEqual(retried(some), { ...plain, ...some, rules: ["D3", "P5", "D1"] })
  })

  it("name the rule of the schedule", () => {
    const rules = (schedule: "steps" | "exponential" | "linear") => retried({ limits: { ...limits, schedule } }).rules
    assert.deepStrictEqual(rules("steps"), ["D3", "D1"])
    assert.deepStrictEqual(rules("exponential"), ["D3", "P4"])
    assert.deepStrictEqual(rules("linear"), ["D3"])
    assert.deepStrictEqual(retried({ byReason: true, limits }).rules, ["D3", "X11"])
  })

  it("name the rule that allows the retry, or the rule that chose its target", () => {
    const may = (over: Partial<Failure.Failure>) => retried({}, {}, { ...failure, ...over }).rules
    assert.deepStrictEqual(may({ defect: true }), ["C10"])
    assert.deepStrictEqual(may({ reason: "aborted" }), ["M3"])
    assert.deepStrictEqual(may({ reason: "quota-exhausted" }), ["C2"])
    const target = { provider: "a", model: "m" }
    const goes = (route: Retry["route"], routing?: "fallback-chain" | "round-robin") =>
      retried(routing === undefined ? {} : { routing }, route === undefined ? {} : { route }).rules
    assert.deepStrictEqual(goes({ target, role: "default" }), ["P8"])
    assert.deepStrictEqual(goes({ target, role: "default", credential: "K" }), ["P8"])
    assert.deepStrictEqual(goes({ target }, "fallback-chain"), ["P8"])
    assert.deepStrictEqual(goes({ target, credential: "K" }, "fallback-chain"), ["P7"])
    assert.deepStrictEqual(goes({ target, credential: "K" }), ["P7"])
    assert.deepStrictEqual(goes({ target }, "round-robin"), ["A4"])
    assert.deepStrictEqual(goes({ target }), ["A4"])
    assert.deepInclude(retried({}, { route: { target, credential: "K" } }), { target: "a/m", credential: "K" })
    const atOnce = (because: AtOnce["because"], routing: AtOnce["routing"]) => {
      const basis: AtOnce = { _tag: "AtOnce", because, routing, spent }
      return DecisionAccount.of({ _tag: "Retry", attempt: 0, delayMs: 0, retryAt: 1_000, basis }, failure).rules
    }
    assert.deepStrictEqual(atOnce("other-credential", "fallback-chain"), ["P7"])
    assert.deepStrictEqual(atOnce("other-target", "fallback-chain"), ["P8"])
    assert.deepStrictEqual(atOnce("same-target", "round-robin"), ["A3"])
    assert.deepStrictEqual(atOnce("other-target", "round-robin"), ["A4"])
  })

  it("rule X4, D2: have the spending, by the measure in force, and the extension of the limit", () => {
    const spending = (basis: Partial<Delay>) => {
      const { onReason, spending } = retried(basis) as { spending?: unknown; onReason?: unknown }
      return { onReason, spending }
    }
    assert.deepStrictEqual(spending({}), { onReason: undefined, spending: undefined })
    const slept = { measure: "scheduled", spentMs: 7 }
    assert.deepStrictEqual(spending({ limits }), { onReason: undefined, spending: slept })
    const limited = spending({ limits: { ...limits, totalMs: 100 } })
    assert.deepStrictEqual(limited.spending, { ...slept, totalMs: 100 })
    const ofReason = { retries: 1, sleptMs: 3, elapsedMs: 4 }
    assert.deepStrictEqual(
      spending({
        spent: { ...spent, extendedMs: 1, onReason: ofReason },
        limits: { ...limits, measure: "wall-clock", totalMs: 100, onReason: { totalMs: 20 } }
      }),
      {
        spending: { measure: "wall-clock", spentMs: 11, totalMs: 101, extendedMs: 1 },
        onReason: { measure: "wall-clock", spentMs: 4, totalMs: 21, extendedMs: 1 }
      }
    )
    const { onReason } = spending({ spent: { ...spent, extendedMs: 0, onReason: ofReason }, limits })
    assert.deepStrictEqual(onReason, { ...slept, spentMs: 3 })
  })

  it("of giving up have the limit that refused", () => {
    const onReason = { maxRetries: 2, totalMs: 20 }
    const all = { ...limits, maxRetries: 5, maxDelayMs: 60, onReason }
    const byClock = { ...all, measure: "wall-clock" } as const
    const cases: ReadonlyArray<Partial<Refused> & Pick<Refused, "because"> & { readonly has: object }> = [
      { because: "max-retries", has: { limit: 5, rules: ["P3", "D7"] } },
      { because: "max-retries", byReason: true, has: { limit: 2, byReason: true, rules: ["X11", "D7"] } },
      { because: "max-delay", delayMs: 61, has: { refusedMs: 61, limit: 60, rules: ["P6"] } },
      { because: "budget", delayMs: 9, has: { refusedMs: 9, rules: ["D1", "D7"] } },
      { because: "budget", byReason: true, has: { byReason: true, rules: ["X11", "D7"] } },
      { because: "budget", limits: byClock, has: { rules: ["D1", "D2", "D7"] } },
      { because: "budget", limits: byClock, byReason: true, has: { byReason: true, rules: ["X11", "D2", "D7"] } },
      { because: "disabled", has: { rules: ["P3"] } },
      { because: "switched-off", has: { rules: ["P15"] } }
    ]
    for (const { has, ...basis } of cases) {
      const { spending: _, type: _type, ...found } = refused({ limits: all, ...basis }) as Record<string, unknown>
      assert.deepStrictEqual(found, { because: basis.because, ...has })
    }
  })

  it("of giving up without a limit have the rule of the reason", () => {
    const because = (because: Extract<Directive.Directive, { _tag: "GiveUp" }>["because"], failed = failure) =>
      DecisionAccount.of({ _tag: "GiveUp", because }, failed)
    const rules = (...given: Parameters<typeof because>) => because(...given).rules
    assert.deepStrictEqual(rules("after-content"), ["D4"])
    assert.deepStrictEqual(rules("not-retryable"), ["D3"])
    assert.deepStrictEqual(rules("not-retryable", { ...failure, reason: "quota-exhausted" }), ["D3", "C2"])
    assert.deepStrictEqual(rules("context-overflow"), ["P2"])
    assert.deepStrictEqual(rules("defect"), ["C10"])
    assert.deepStrictEqual(rules("no-strategy"), ["D9"])
    assert.deepStrictEqual(because("exhausted"), { type: "gave-up", because: "exhausted", rules: ["D7"] })
    // A policy that would have waited was not asked.
    const basis = { _tag: "Delay", delayMs: 1, scheduledMs: 1, spent } as const
    const off = DecisionAccount.of({ _tag: "GiveUp", because: "exhausted", basis }, failure)
    assert.deepInclude(off, { because: "switched-off", rules: ["P15"] })
  })
})
