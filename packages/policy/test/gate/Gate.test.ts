/** Tests the gate's decisions: admit, hold, share a failure, probe. */
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Gate from "../../src/gate/Gate.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "busy", retryable: true }
const failure: Failure.Failure = { reason: "server-error", message: "down", retryable: true }

const T = 1_000_000

/** An endpoint whose first attempt has just failed, with one turn waiting. */
const shut = Gate.entered(Gate.failedFirst(Gate.open, T, failure), T)

/** A retry that asks when the last failure is old: it is admitted as the probe. */
const probing = (gate: Gate.Gate, now: number): Gate.Gate => {
  const [answer, after] = Gate.ask(gate, now, 0)
  expect(answer._tag).toBe("Go")
  return after
}

/** Calls that were admitted and answer, up to `n` at once. */
const answering = (gate: Gate.Gate, n: number): Gate.Gate =>
  Array.from({ length: n }).reduce<Gate.Gate>((gate) => Gate.answered(Gate.admit(gate, T)), gate)

const refused = (gate: Gate.Gate, now: number, hadAnswered = false): Gate.Gate =>
  Gate.failed(gate, now, overloaded, { beganAt: now, hadAnswered })

describe("a gate without a known failure", () => {
  it("X5: lets retries and first attempts through, however many", () => {
    const [answer, after] = Gate.ask(Gate.open, T, 5_000)
    expect(answer).toEqual(Gate.CallDecision.Go())
    expect(after).toMatchObject({ phase: "open", underway: 1, triedAt: T })
    expect(Gate.ask(answering(Gate.open, 50), T, 5_000)[0]).toEqual(Gate.CallDecision.Go())
    expect(Gate.askFirst(Gate.open, T)).toEqual(Gate.CallDecision.Go())
  })

  it("X5: stays open over answers", () => {
    expect(answering(Gate.open, 3)).toMatchObject({ phase: "open", answering: 3, underway: 3, proven: 3 })
  })

  it("X5: wakes all waiting turns", () => {
    expect(Gate.wakes(Gate.open, T, { count: 7, meanWaitMs: 1 })).toEqual({ count: 7, againAt: Infinity })
  })

  it("X5: is shut for turns that wait across a restart, and a probe is due as if the wait had begun with one", () => {
    const gate = Gate.remembered(Gate.open, T)
    expect(gate).toMatchObject({ phase: "shut", room: 1, triedAt: T, last: undefined })
    expect(Gate.remembered(shut, T + 5)).toEqual(shut)
    // Nothing is known to share.
    expect(Gate.ask(gate, T, 1e9)[0]).toEqual(Gate.CallDecision.Go())
    expect(Gate.askFirst({ ...gate, refusals: Gate.CERTAIN }, T)).toEqual(Gate.CallDecision.Go())
  })
})

describe("a gate before an endpoint that fails", () => {
  it.each([
    ["its own wait's tenth", 5_000, 500],
    ["a minute, however long it has waited", 3_600_000, 60_000]
  ])("X5: a turn shares a failure that is no older than %s", (_, waitedMs, freshMs) => {
    const [fresh, same] = Gate.ask(shut, T + freshMs, waitedMs)
    expect(fresh).toEqual(Gate.CallDecision.Share({ failure }))
    expect(same).toBe(shut)
    expect(Gate.ask(shut, T + freshMs + 1, waitedMs)[0]).toEqual(Gate.CallDecision.Go())
  })

  it("X5: one retry is under way at a time; the others are held until it has failed, and share its failure", () => {
    const probe = probing(shut, T + 1_000)
    expect(Gate.ask(probe, T + 1_000, 1e6)).toEqual([Gate.CallDecision.Hold(), probe])
    expect(Gate.wakes(probe, T + 1e9, { count: 5, meanWaitMs: 1 })).toEqual({ count: 0, againAt: Infinity })
    const failed = refused(probe, T + 2_000)
    expect(failed).toMatchObject({ phase: "shut", underway: 0, refusals: 2 })
    expect(Gate.ask(failed, T + 2_000, 5_000)[0]).toEqual(Gate.CallDecision.Share({ failure: overloaded }))
  })

  it("X5: a retry that is being answered holds no other turn, though the endpoint refuses the others", () => {
    const busy = { ...shut, underway: 1, answering: 1 }
    expect(Gate.ask(busy, T + 1e9, 5_000)[0]).toEqual(Gate.CallDecision.Go())
    expect(Gate.wakes(busy, T + 1e9, { count: 5, meanWaitMs: 1 }).count).toBe(1)
    expect(Gate.ask({ ...busy, underway: 2 }, T + 1e9, 5_000)[0]).toEqual(Gate.CallDecision.Hold())
  })

  it("X5: a first attempt shares the failure after enough refusals in a row, and only while it is recent", () => {
    const certain = { ...shut, refusals: Gate.CERTAIN }
    expect(Gate.askFirst({ ...shut, refusals: Gate.CERTAIN - 1 }, T)).toEqual(Gate.CallDecision.Go())
    expect(Gate.askFirst(certain, T + Gate.CERTAIN_MS)).toEqual(Gate.CallDecision.Share({ failure }))
    expect(Gate.askFirst(certain, T + Gate.CERTAIN_MS + 1)).toEqual(Gate.CallDecision.Go())
    expect(Gate.askFirst({ ...certain, phase: "ramp" }, T)).toEqual(Gate.CallDecision.Go())
    expect([Gate.CERTAIN, Gate.CERTAIN_MS, Gate.MAX_PATIENCE]).toEqual([10, 2_000, 16])
  })

  it("X5: first attempts that fail are counted, and make a probe due later, never earlier", () => {
    const again = Gate.failedFirst(shut, T + 50, overloaded)
    expect(again).toMatchObject({ refusals: 2, triedAt: T + 50, last: { failure: overloaded, at: T + 50 } })
    expect(Gate.failedFirst({ ...shut, triedAt: T + 100 }, T + 50, overloaded).triedAt).toBe(T + 100)
  })

  it("X5: a first attempt that fails changes nothing while retries are answered", () => {
    const ramp = Gate.answered(probing(shut, T + 1))
    expect(Gate.failedFirst(ramp, T + 2, overloaded)).toBe(ramp)
    const busy = { ...shut, underway: 1, answering: 1 }
    expect(Gate.failedFirst(busy, T + 2, overloaded)).toBe(busy)
  })

  it("X5: a first attempt that is answered admits waiting turns", () => {
    expect(Gate.answeredFirst(shut)).toMatchObject({ phase: "ramp", refusals: 0, room: 1 })
    const open = { ...Gate.open, refusals: 3 }
    expect(Gate.answeredFirst(open)).toEqual({ ...open, refusals: 0 })
  })
})

describe("probes", () => {
  const due = (gate: Gate.Gate, waiting: { readonly count: number; readonly meanWaitMs: number }) =>
    Gate.wakes(gate, T, waiting).againAt - T

  it("X5: without waiting turns none is woken", () => {
    expect(Gate.wakes(shut, T + 1e9, { count: 0, meanWaitMs: 0 })).toEqual({ count: 0, againAt: Infinity })
  })

  it("X5: a probe is made to the millisecond, and not before", () => {
    const waiting = { count: 1_000, meanWaitMs: 60_000 }
    const at = T + Gate.PROBE_MIN_MS
    expect(Gate.wakes(shut, at - 1, waiting)).toEqual({ count: 0, againAt: at })
    expect(Gate.wakes(shut, at, waiting)).toEqual({ count: 1, againAt: Infinity })
  })

  it("X5: probes cost no more than their share of the calls that the schedules would have made", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 3_600_000 }), (count, meanWaitMs) => {
        const callsBySchedule = count / meanWaitMs
        expect(1 / due(shut, { count, meanWaitMs })).toBeLessThanOrEqual(
          Gate.PROBE_SHARE * callsBySchedule * (1 + 1e-9) + Number.EPSILON
        )
        expect(due(shut, { count, meanWaitMs })).toBeGreaterThanOrEqual(Gate.PROBE_MIN_MS)
      })
    )
    expect(due(shut, { count: 100, meanWaitMs: 60_000 })).toBe(60_000 / (100 * Gate.PROBE_SHARE))
  })

  it("X5: after an endpoint has stopped answering a crowd the first probes come soon: 5 s, 15 s, 45 s … apart", () => {
    const alone = { count: 1, meanWaitMs: 1e9 }
    // Two answering calls broke off, one after the other; the third ends well.
    let gate = answering(Gate.answered(probing(shut, T + 1)), 2)
    for (let n = 0; n < Gate.FINAL; n++) gate = refused(gate, T, true)
    gate = Gate.ended(gate, true)
    expect(gate).toMatchObject({ phase: "shut", underway: 0, probes: 0 })
    for (const apart of [5_000, 15_000, 45_000, 135_000, 405_000]) {
      expect(due({ ...gate, triedAt: T }, alone)).toBe(apart)
      gate = refused(Gate.admit(gate, T), T)
    }
    expect(gate.probes).toBe(Gate.EAGER_PROBES)
    expect(due({ ...gate, triedAt: T }, alone)).toBe(1e9 / Gate.PROBE_SHARE)
  })

  it("X5: the probes of one turn do not count for a crowd", () => {
    expect(refused(probing(shut, T + 1), T + 1).probes).toBeUndefined()
  })
})

describe("a gate before an endpoint that has come back", () => {
  /** The probe has been answered. */
  const back = Gate.answered(probing(shut, T + 1))

  it("X5: admits one more than are under way, and as many more as are answered", () => {
    expect(back).toMatchObject({ phase: "ramp", room: 2, underway: 1, answering: 1, proven: 1, patience: 1 })
    expect(Gate.wakes(back, T, { count: 9, meanWaitMs: 1 })).toEqual({ count: 1, againAt: Infinity })
    const full = Gate.admit(back, T + 2)
    expect(Gate.wakes(full, T, { count: 9, meanWaitMs: 1 }).count).toBe(0)
    expect(Gate.ask(full, T + 2, 1)[0]).toEqual(Gate.CallDecision.Hold())
    expect(Gate.answered(full)).toMatchObject({ room: 3, answering: 2, proven: 2 })
    expect(Gate.wakes({ ...full, room: 9 }, T, { count: 3, meanWaitMs: 1 }).count).toBe(3)
    expect(Gate.wakes({ ...full, room: 1 }, T, { count: 3, meanWaitMs: 1 }).count).toBe(0)
  })

  it("X5: no turn shares a failure: the endpoint answers", () => {
    expect(Gate.ask(back, T, 1e9)[0]).toEqual(Gate.CallDecision.Go())
  })

  it("X5: a refusal beyond the answering calls shrinks the room to their number, and doubles the patience each time", () => {
    let gate = answering(back, 3)
    expect(gate).toMatchObject({ room: 5, answering: 4 })
    gate = refused(Gate.admit(gate, T + 10), T + 10)
    expect(gate).toMatchObject({ phase: "ramp", room: 4, underway: 4, patience: 2, raiseIn: 8, inRoom: 0 })
    // After seven answers there is no more room, after the eighth there is.
    const ends = (gate: Gate.Gate) => Gate.answered(Gate.admit(Gate.ended(gate, true), T))
    for (let n = 1; n < 8; n++) gate = ends(gate)
    expect(gate).toMatchObject({ room: 4, raiseIn: 1 })
    gate = ends(gate)
    expect(gate).toMatchObject({ room: 5, raiseIn: 10 })
    for (let n = 0; n < 9; n++) gate = refused(Gate.admit(gate, T + 20 + n), T + 20 + n)
    expect(gate.patience).toBe(Gate.MAX_PATIENCE)
  })

  it("X5: a failure of a call that began before the last failure was known is no news", () => {
    const gate = refused(Gate.admit(Gate.admit(answering(back, 3), T), T), T + 10)
    const late = Gate.failed(gate, T + 11, failure, { beganAt: T + 9, hadAnswered: false })
    expect(late).toMatchObject({ patience: gate.patience, inRoom: gate.inRoom, room: 4, last: { failure } })
    const news = Gate.failed(gate, T + 11, failure, { beganAt: T + 10, hadAnswered: false })
    expect(news.patience).toBe(2 * gate.patience)
  })

  it("X5: refusals in a row at a room that had been answered shut it, though some are still answering", () => {
    let gate = answering(back, 5)
    for (let n = 0; n < 3; n++) gate = Gate.ended(gate, true)
    gate = refused(Gate.admit(gate, T + 10), T + 10)
    expect(gate).toMatchObject({ phase: "ramp", inRoom: 1, answering: 3, patience: 1 })
    // An answer in between begins the count anew.
    expect(Gate.answered(Gate.admit(gate, T + 11))).toMatchObject({ inRoom: 0, refusals: 0 })
    gate = refused(Gate.admit(gate, T + 11), T + 11)
    expect(gate).toMatchObject({ phase: "shut", room: 1, inRoom: 0, answering: 3, threshold: 6, probes: 0 })
  })

  it("X5: after that the room grows quickly to the proven number, and slowly from there", () => {
    let gate: Gate.Gate = Gate.answered(Gate.admit({ ...shut, threshold: 3 }, T))
    expect(gate).toMatchObject({ room: 2, raiseIn: 0 })
    gate = Gate.answered(Gate.admit(gate, T))
    expect(gate).toMatchObject({ room: 3, raiseIn: 0 })
    gate = Gate.answered(Gate.admit(gate, T))
    expect(gate).toMatchObject({ room: 4, raiseIn: 4 })
  })

  it("X5: a call that shut it and was answered no longer counts once it has ended", () => {
    expect(Gate.ended(back, true)).toMatchObject({ underway: 0, answering: 0 })
    expect(Gate.ended(Gate.admit(back, T), false)).toMatchObject({ underway: 1, answering: 1 })
    expect(Gate.ended(Gate.open, true)).toMatchObject({ underway: 0, answering: 0 })
  })
})

describe("after the last waiting turn", () => {
  const crowd = { ...shut, probes: 3, threshold: 9 }

  it("X5: a ramp is over, and a failure is remembered for a while", () => {
    const ramp = Gate.answered(probing(shut, T + 1))
    expect(Gate.settled(ramp, T)).toBe(ramp)
    expect(Gate.settled(Gate.ended(ramp, true), T)).toBe(Gate.open)
    const left = Gate.settled(crowd, T)
    expect(left).toEqual({ ...crowd, leftAt: T })
    expect(Gate.settled(left, T + 5)).toBe(left)
  })

  it("X5: the findings of a crowd are forgotten after 20 minutes and a quarter, and not before", () => {
    expect(Gate.FORGET_MS).toBe(1_215_000)
    const left = Gate.settled(crowd, T)
    expect(Gate.entered(left, T + Gate.FORGET_MS - 1)).toEqual(crowd)
    expect(Gate.entered(left, T + Gate.FORGET_MS)).toEqual(Gate.open)
    expect(Gate.failedFirst(left, T + Gate.FORGET_MS, failure)).toMatchObject({ refusals: 1, probes: undefined })
    expect(Gate.failedFirst(left, T + Gate.FORGET_MS - 1, failure)).toMatchObject({ refusals: 2, probes: 3 })
  })
})

describe("a failure that concerns an endpoint", () => {
  it.each(["rate-limited", "quota-exhausted", "overloaded", "server-error", "network", "timeout", "aborted"] as const)(
    "X5: %s does, if it is retryable and no bug of ours",
    (reason) => {
      const failure = { reason, message: "", retryable: true }
      expect(Gate.concerns(failure)).toBe(true)
      expect(Gate.concerns({ ...failure, retryable: false })).toBe(false)
      expect(Gate.concerns({ ...failure, defect: true })).toBe(false)
    }
  )

  it.each(["unknown", "invalid-response", "auth", "context-overflow", "refused", "bad-request"] as const)(
    "X5: %s concerns one request",
    (reason) => {
      expect(Gate.concerns({ reason, message: "", retryable: true })).toBe(false)
    }
  )
})
