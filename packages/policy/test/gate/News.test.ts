/** A gate with the findings of other processes. */
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Gate from "../../src/gate/Gate.ts"
import * as News from "../../src/gate/News.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined, n: 0 }
const failing = (at: number, n = 60): News.News => ({ ...NOTHING, triedAt: at, failedAt: at, failure: overloaded, n })
const answering = (at: number): News.News => ({ ...NOTHING, triedAt: at, answeredAt: at })

const crowd = { count: 100, meanWaitMs: 1_800_000 }
const asking = { dueAt: 0, waitMs: 30_000, mayShare: true }

/** An endpoint that has refused calls until `at`, so that it is off. */
const off = (at: number): Gate.Gate => {
  let gate = Gate.open
  for (let n = 0; n < 30; n++) {
    const [call, begun] = Gate.begin(gate, at, false)
    gate = Gate.refused(begun, at, call, 0, overloaded)
  }
  return gate
}

const answers = (gate: Gate.Gate, at: number): Gate.Gate => {
  const [call, begun] = Gate.begin(gate, at, false)
  return Gate.answered(begun, at, call)
}

describe("news of an endpoint", () => {
  it("rule X5: that fails are shared by turns that are due soon after", () => {
    const gate = News.apply(off(1_000), failing(60_000))
    const [answer] = Gate.ask(gate, 60_500, asking, 0, false)
    expect(answer).toEqual(Gate.CallDecision.Share({ failure: overloaded }))
  })

  it("rule X5: the certainty of another process counts here", () => {
    expect(Gate.isOff(News.apply(Gate.open, failing(60_000)))).toBe(true)
    expect(Gate.isOff(News.apply(Gate.open, failing(60_000, 20)))).toBe(false)
  })

  it("rule X5: of a failure do not count while it answers here, or where they are less certain", () => {
    const gate = answers(Gate.open, 30_000)
    expect(News.apply(gate, failing(40_000))).toEqual({ ...gate, triedAt: 40_000 })
    const known = off(1_000)
    expect(News.apply(known, failing(40_000, 5))).toEqual({ ...known, triedAt: 40_000 })
  })

  it("rule X5: of an answer elsewhere allow one call here, and not a crowd, and the next one not within 5 s of its refusal", () => {
    const gate = News.apply(off(30_000), answering(36_000))
    expect(Gate.isOff(gate)).toBe(true)
    expect(Gate.gift(gate, 36_000, crowd).isFree).toBe(true)
    const [call, begun] = Gate.begin(gate, 36_000, true)
    expect(Gate.gift(begun, 36_000, crowd).isFree).toBe(false)
    // The other process goes on being answered; here the call has no outcome yet, and is refused then.
    const later = News.apply(begun, answering(37_000))
    expect(Gate.gift(later, 37_000, crowd).isFree).toBe(false)
    const refused = Gate.refused(later, 38_000, call, 0, overloaded)
    expect(Gate.gift(News.apply(refused, answering(42_000)), 42_000, crowd).isFree).toBe(false)
    expect(Gate.gift(News.apply(refused, answering(43_000)), 43_000, crowd).isFree).toBe(true)
  })

  it("rule X5: of an answer elsewhere allow one call after few refusals, too, and hold no due turn", () => {
    let known = Gate.open
    for (let n = 0; n < 6; n++) {
      const [call, begun] = Gate.begin(known, 30_000, false)
      known = Gate.refused(begun, 30_000, call, 0, overloaded)
    }
    expect(Gate.isOff(known)).toBe(false)
    expect(Gate.gift(known, 36_000, crowd).isFree).toBe(false)
    expect(Gate.gift(News.apply(known, answering(34_000)), 34_000, crowd).isFree).toBe(false)
    const gate = News.apply(known, answering(36_000))
    expect(Gate.gift(gate, 36_000, crowd).isFree).toBe(true)
    expect(Gate.roomOf(gate)).toBe(Gate.roomOf(known))
    const [call, begun] = Gate.begin(gate, 36_000, true)
    expect(Gate.gift(News.apply(begun, answering(37_000)), 37_000, crowd).isFree).toBe(false)
    // Refused, it waits for an answer that is 5 s newer; answered, it goes on by itself.
    const refused = Gate.refused(begun, 38_000, call, 0, overloaded)
    expect(Gate.gift(News.apply(refused, answering(42_000)), 42_000, crowd).isFree).toBe(false)
    expect(Gate.gift(News.apply(refused, answering(43_000)), 43_000, crowd).isFree).toBe(true)
    expect(Gate.gift(Gate.answered(begun, 38_000, call), 38_000, crowd).isFree).toBe(true)
  })

  it("rule X5: are empty without calls", () => {
    expect(News.of(Gate.open)).toEqual(NOTHING)
    expect(News.isNewer(News.of(Gate.open), NOTHING)).toBe(false)
    expect(News.apply(Gate.open, NOTHING)).toEqual(Gate.open)
    expect(News.apply(off(1_000), { ...NOTHING, failedAt: 60_000, n: 99 })).toEqual(off(1_000))
  })

  it("rule X5: are new if one of their times is later", () => {
    const known = { triedAt: 10, answeredAt: 10, failedAt: 10, failure: overloaded, n: 1 }
    const old = { ...known, triedAt: 9, answeredAt: 9, failedAt: 9 }
    expect(News.isNewer(known, undefined)).toBe(true)
    for (const key of ["triedAt", "answeredAt", "failedAt"] as const) {
      expect(News.isNewer({ ...known, [key]: 11 }, known)).toBe(true)
      expect(News.isNewer({ ...old, [key]: 11 }, known)).toBe(true)
      expect(News.isNewer({ ...old, [key]: 10 }, known)).toBe(false)
    }
  })

  it("rule X5: that come twice, late, or in another order change nothing but one try", () => {
    const news = fc.record({
      triedAt: fc.nat(100_000),
      answeredAt: fc.nat(100_000),
      failedAt: fc.nat(100_000),
      failure: fc.constant(overloaded),
      n: fc.nat(100)
    })
    fc.assert(
      fc.property(fc.array(news, { maxLength: 6 }), fc.boolean(), (all, isOff) => {
        const before = isOff ? off(50_000) : Gate.open
        const once = all.reduce(News.apply, before)
        for (const late of all) {
          const again = News.apply(once, late)
          // Room, credit and the record of answers are a process's own; the second application of the same news is none.
          expect({
            ...again,
            n: 0,
            triedAt: 0,
            refusedAt: 0,
            answeredAt: 0,
            failure: undefined,
            probes: 0,
            isToTry: false
          }).toEqual({
            ...once,
            n: 0,
            triedAt: 0,
            refusedAt: 0,
            answeredAt: 0,
            failure: undefined,
            probes: 0,
            isToTry: false
          })
          expect(News.apply(again, late)).toEqual(again)
        }
      })
    )
  })

  it("rule X5: that are one's own, or old, change nothing", () => {
    fc.assert(
      fc.property(fc.nat(), (earlier) => {
        const gate = off(2_000_000)
        expect(News.apply(gate, News.of(gate))).toEqual(gate)
        expect(News.apply(gate, failing(earlier % 2_000_000))).toEqual(gate)
      })
    )
  })
})
