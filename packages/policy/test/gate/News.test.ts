/** A gate with the findings of other processes. */
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Gate from "../../src/gate/Gate.ts"
import * as News from "../../src/gate/News.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined }
const failing = (at: number): News.News => ({ ...NOTHING, triedAt: at, failedAt: at, failure: overloaded })
const answering = (at: number): News.News => ({ ...NOTHING, triedAt: at, answeredAt: at })

const shut = Gate.failedFirst(Gate.open, 1_000, overloaded)
const crowd = { count: 100, meanWaitMs: 1_800_000 }

describe("news of an endpoint", () => {
  it("X5: that fails are shared by turns that are due soon after", () => {
    const gate = News.apply(shut, failing(60_000))
    const [answer] = Gate.ask(gate, 60_500, 30_000)
    expect(answer).toEqual(Gate.CallDecision.Share({ failure: overloaded }))
  })

  it("X5: that answers wake a crowd that has not been there yet", () => {
    const gate = News.apply(shut, answering(60_000))
    expect(gate.phase).toBe("ramp")
    expect(Gate.wakes(gate, 60_000, crowd).count).toBe(1)
  })

  it("X5: of a failure do not count while it answers here", () => {
    const [, asked] = Gate.ask(shut, 30_000, 10_000)
    const ramp = Gate.answered(asked)
    expect(News.apply(ramp, failing(40_000))).toEqual({ ...ramp, triedAt: 40_000 })
  })

  it("X5: that answers elsewhere allow single probes here after a refusal, further and further apart", () => {
    // It answered here, and then it refused all calls from here.
    const [, asked] = Gate.ask(shut, 30_000, 10_000)
    const began = { beganAt: 31_000, hadAnswered: false }
    const full = Gate.failed(Gate.ended(Gate.admit(Gate.answered(asked), 31_000), true), 32_000, overloaded, began)
    expect(full.phase).toBe("shut")
    expect(Gate.wakes(News.apply(full, answering(33_000)), 33_000, crowd).count).toBe(0)
    const again = News.apply(full, answering(37_000))
    expect(again.phase).toBe("shut")
    expect(Gate.wakes(again, 37_000, crowd).count).toBe(1)
    const refused = Gate.failed(Gate.admit(again, 37_000), 38_000, overloaded, { beganAt: 37_000, hadAnswered: false })
    expect(Gate.wakes(News.apply(refused, answering(44_000)), 44_000, crowd).count).toBe(0)
    expect(Gate.wakes(News.apply(refused, answering(53_000)), 53_000, crowd).count).toBe(1)
  })

  it("X5: are empty without calls", () => {
    expect(News.of(Gate.open, 0)).toEqual(NOTHING)
    expect(News.isNewer(News.of(Gate.open, 0), NOTHING)).toBe(false)
    expect(News.apply(Gate.open, NOTHING)).toEqual(Gate.open)
    expect(News.apply(shut, { ...NOTHING, failedAt: 60_000 })).toEqual(shut)
  })

  it("X5: of a first failure shut a gate without failures, at any time", () => {
    for (const at of [1, 60_000]) {
      expect(News.apply(Gate.open, failing(at))).toMatchObject({ phase: "shut", last: { failure: overloaded, at } })
    }
  })

  it("X5: of an answer count from the millisecond of another process's failure, and after that of one's own", () => {
    const both = { triedAt: 60_000, answeredAt: 60_000, failedAt: 60_000, failure: overloaded }
    expect(News.apply(shut, both).phase).toBe("ramp")
    expect(News.apply(shut, answering(1_001)).phase).toBe("ramp")
    expect(News.apply(shut, answering(1_000))).toEqual(shut)
  })

  it("X5: of an answer change nothing but the time of the last call while it answers here", () => {
    // It refused calls here while it answered elsewhere; then a single probe was answered.
    const [, asked] = Gate.ask(shut, 30_000, 10_000)
    const began = { beganAt: 31_000, hadAnswered: false }
    const full = Gate.failed(Gate.ended(Gate.admit(Gate.answered(asked), 31_000), true), 32_000, overloaded, began)
    const ramp = Gate.answered(Gate.admit(full, 40_000))
    expect([ramp.phase, ramp.probes]).toEqual(["ramp", 0])
    expect(News.apply(ramp, answering(3_600_000))).toEqual({ ...ramp, triedAt: 3_600_000 })
  })

  it("X5: are new if one of their times is later", () => {
    const known = { triedAt: 10, answeredAt: 10, failedAt: 10, failure: overloaded }
    const old = { ...known, triedAt: 9, answeredAt: 9, failedAt: 9 }
    expect(News.isNewer(known, undefined)).toBe(true)
    for (const key of ["triedAt", "answeredAt", "failedAt"] as const) {
      expect(News.isNewer({ ...known, [key]: 11 }, known)).toBe(true)
      expect(News.isNewer({ ...old, [key]: 11 }, known)).toBe(true)
      expect(News.isNewer({ ...old, [key]: 10 }, known)).toBe(false)
    }
  })

  it("X5: that are one's own, or old, change nothing", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (answeredAt, earlier) => {
        const gate = Gate.failedFirst(Gate.open, 2_000_000, overloaded)
        const own = News.of(gate, Math.min(answeredAt, 1_999_999))
        expect(News.apply(gate, own)).toEqual(gate)
        expect(News.isNewer(own, own)).toBe(false)
        expect(News.apply(gate, failing(earlier % 2_000_000))).toEqual(gate)
      })
    )
  })
})
