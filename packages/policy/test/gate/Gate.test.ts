/** Tests the gate's decisions: call, hold, share a failure, wake early. */
import type { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Gate from "../../src/gate/Gate.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: "busy", retryable: true }
const T = 1_000_000
const MINUTE = 60_000

const turn: Gate.Asking = { dueAt: T, waitMs: 300_000, mayShare: true }
const crowd = { count: 1_000, meanWaitMs: 60_000 }

const begun = (gate: Gate.Gate, now = T, isGift = false) => Gate.begin(gate, now, isGift)

/** Calls that are refused, one after the other. */
const refusals = (gate: Gate.Gate, n: number, now = T): Gate.Gate => {
  for (let i = 0; i < n; i++) {
    const [call, next] = begun(gate, now)
    gate = Gate.refused(next, now, call, 0, overloaded)
  }
  return gate
}

/** Calls that show content, all under way at once; they end if `hasEnded`. */
const answers = (gate: Gate.Gate, n: number, hasEnded: boolean, now = T): Gate.Gate => {
  const calls: Array<Gate.Call> = []
  for (let i = 0; i < n; i++) {
    const [call, next] = begun(gate, now)
    calls.push(call)
    gate = next
  }
  for (const call of calls) gate = Gate.answered(gate, now, call)
  if (hasEnded) for (const _ of calls) gate = Gate.ended(gate, true)
  return gate
}

const decided = (gate: Gate.Gate, now: number, asking = turn, load = gate.under, isFirst = false) =>
  Gate.ask(gate, now, asking, load, isFirst)[0]._tag

/** It never answered. */
const dark = refusals(Gate.open, 60)
/** It answered everything a moment ago, and now nothing. */
const dim = refusals(answers(Gate.open, 20, true), 20)

describe("a gate without a known failure", () => {
  it("rule X5: lets due turns and first attempts through, however many", () => {
    const busy = answers(Gate.open, 50, false)
    expect(decided(busy, T)).toBe("Go")
    expect(Gate.askFirst(busy, T)[0]._tag).toBe("Go")
    expect(Gate.phaseOf(busy)).toBe("open")
  })

  it("rule X5: wakes no turn early: that one's failure is its own", () => {
    expect(Gate.gift(answers(Gate.open, 3, true), T, crowd).isFree).toBe(false)
  })

  it("rule X5: is shut for turns that wait across a restart, and they have a probe as if their wait had begun with one", () => {
    const gate = Gate.remembered(Gate.open, T)
    expect(Gate.isOff(gate)).toBe(true)
    expect(Gate.gift(gate, T + 4_999, crowd)).toEqual({ isFree: false, againAt: T + Gate.PROBE_MIN_MS })
    expect(Gate.gift(gate, T + 5_000, crowd).isFree).toBe(true)
    expect(Gate.remembered(dark, T + 5)).toBe(dark)
    const known = answers(Gate.open, 1, true)
    expect(Gate.remembered(known, T + 5)).toBe(known)
    // Nothing is known to share; and one answer lets the crowd in.
    expect(decided(gate, T)).toBe("Go")
    expect(Gate.gift(answers(gate, 1, true), T, crowd).isFree).toBe(true)
  })
})

describe("the refusals in a row that mean off", () => {
  it("rule X5: are few at an endpoint that answered everything, more at one that answers some, and most at one that answers hardly any", () => {
    const of = (share: number) => {
      let gate = Gate.open
      for (let i = 0; i < 2_000; i++) {
        const isAnswered = Math.floor((i + 1) * share) > Math.floor(i * share)
        gate = isAnswered ? answers(gate, 1, true) : refusals(gate, 1)
      }
      return Math.round(Gate.sure(gate))
    }
    expect(of(1)).toBe(Gate.SURE_LEAST)
    expect(of(0.4)).toBeGreaterThanOrEqual(5)
    expect(of(0.4)).toBeLessThanOrEqual(9)
    expect(of(0.1)).toBeGreaterThan(20)
    expect(of(0.02)).toBeGreaterThan(80)
    expect(of(0.02)).toBeLessThanOrEqual(Gate.SURE_MOST)
    expect(Math.round(Gate.sure(Gate.open))).toBe(28)
  })

  it("rule X5: count less from a turn that is refused by itself, and above the load that is answered", () => {
    const busy = answers(Gate.open, 5, false)
    const [outside, one] = begun(busy)
    const n = (odd: number, call = outside) => Gate.refused(one, T, call, odd, overloaded).n
    expect(n(0)).toBeCloseTo(0.1)
    expect(n(4)).toBeCloseTo(0.02)
    expect(n(0, { ...outside, isInside: true })).toBe(1)
  })

  it("rule X5: do not count when they come from a call that began before an answered one", () => {
    const [early, one] = begun(Gate.open, T)
    const [late, two] = begun(one, T + 1)
    const answered = Gate.answered(two, T + 2, late)
    expect(Gate.refused(answered, T + 3, early, 0, overloaded).n).toBe(0)
  })
})

describe("a due turn", () => {
  it("rule X5: calls at an endpoint that answers, up to the load that was answered before, and is held above it", () => {
    const gate = refusals(answers(Gate.open, 5, false), 1)
    expect(decided(gate, T)).toBe("Hold")
    expect(decided(Gate.ended(gate, true), T)).toBe("Go")
    // Calls that are late hold no place.
    expect(decided(gate, T, turn, gate.under - 1)).toBe("Go")
    expect(Gate.askAgainAt(gate, T, turn, T + 7)).toBe(T + 7)
  })

  it("rule X5: is held ten minutes at most after the last answer, whatever the gate knows", () => {
    const full = refusals(answers(Gate.open, 5, false, T + MINUTE), 1, T + MINUTE)
    for (const gate of [full, { ...dim, answeredAt: T + MINUTE }]) {
      const end = T + MINUTE + Gate.HOLD_LIMIT_MS
      expect(Gate.askAgainAt(gate, end - 1, turn, Infinity)).toBeLessThanOrEqual(end)
      expect(decided(gate, end, turn)).toBe("Go")
    }
    expect(decided(full, T + MINUTE + Gate.HOLD_LIMIT_MS - 1)).toBe("Hold")
  })

  it("rule X5: shares a fresh failure in the dark, and earns credit for it; never as its last", () => {
    const [answer, after] = Gate.ask(dark, T + 30_000, turn, 0, false)
    expect(answer).toEqual(Gate.CallDecision.Share({ failure: overloaded }))
    expect(after.credit).toBe(dark.credit + 1)
    expect(decided(dark, T + 30_001)).toBe("Go")
    expect(decided(dark, T + 30_000, { ...turn, mayShare: false })).toBe("Go")
  })

  it("rule X5: shares no failure from before its wait: that is its own, or it has shared it", () => {
    const soon = { ...turn, dueAt: T + 1_000, waitMs: 1_000 }
    expect(decided(dark, T + 1_000, soon)).toBe("Go")
    expect(decided({ ...dark, refusedAt: T + 1 }, T + 1_000, soon)).toBe("Share")
  })

  it.each([
    [2_000, 5_000],
    [2_000, 20_000],
    [30_000, 300_000],
    [60_000, 1_800_000]
  ])("rule X5: shares what is no older than %s ms after a wait of %s ms", (freshMs, waitMs) => {
    expect(decided(dark, T + freshMs, { ...turn, waitMs })).toBe("Share")
    expect(decided(dark, T + freshMs + 1, { ...turn, waitMs })).toBe("Go")
  })

  it("rule X5: at an endpoint that answered within two minutes is held and not charged: one probe each 5 s", () => {
    expect(Gate.isOff(dim)).toBe(true)
    expect(decided(dim, T)).toBe("Hold")
    expect(decided(dim, T + 4_999)).toBe("Hold")
    expect(decided(dim, T + 5_000)).toBe("Go")
    const [, probing] = begun(dim, T + 5_000)
    expect(decided(probing, T + 9_999)).toBe("Hold")
    const late = { ...dim, refusedAt: T + Gate.RECENT_MS }
    expect(decided(late, T + Gate.RECENT_MS)).toBe("Hold")
    expect(decided(late, T + Gate.RECENT_MS + 1)).toBe("Share")
  })

  it("rule X5: at one that answered one call in ten within two minutes, a probe is as many calls of one moment as have an answer", () => {
    let gate: Gate.Gate = { ...dim, ok: 2, bad: 18, n: 200 }
    const [inTen, later] = [T + 5_000, T + 5_001]
    let calls = 0
    for (; decided(gate, inTen) === "Go"; calls++) [, gate] = begun(gate, inTen)
    expect(calls).toBe(10)
    expect(decided(gate, later)).toBe("Hold")
    // The next of the same probe is no call of another moment, and in the dark one turn alone probes.
    const [, one] = begun({ ...dim, ok: 2, bad: 18, n: 200 }, inTen)
    expect(decided(one, later)).toBe("Hold")
    const [, inDark] = begun({ ...one, under: 0, answeredAt: T - Gate.RECENT_MS }, inTen)
    expect(decided(inDark, inTen)).toBe("Hold")
  })

  it("rule X5: draws for a call the first time that it asks; the more certain it is that the endpoint is off, the fewer call", () => {
    const calls = (n: number) => {
      let gate = refusals(Gate.open, n)
      let drawn = 0
      for (let i = 0; i < 100; i++) {
        const [answer, next] = Gate.ask(gate, T, turn, 0, true)
        if (answer._tag === "Go") drawn++
        gate = next
      }
      return drawn
    }
    expect(calls(28)).toBe(100)
    expect(calls(57)).toBe(24)
    expect(calls(280)).toBe(1)
  })
})

describe("a first attempt", () => {
  it("rule X5: shares the failure after enough refusals in a row, and only while it is recent", () => {
    const gate = { ...dark, owed: 0 }
    expect(Gate.askFirst(gate, T + Gate.FIRST_MS)[0]).toEqual(Gate.CallDecision.Share({ failure: overloaded }))
    expect(Gate.askFirst(gate, T + Gate.FIRST_MS + 1)[0]._tag).toBe("Go")
    expect(Gate.askFirst({ ...dim, n: Gate.FIRST_CERTAIN - 1 }, T)[0]._tag).toBe("Go")
    expect(Gate.isOff({ ...dim, n: Gate.FIRST_CERTAIN - 1 })).toBe(true)
  })
})

describe("a shared failure", () => {
  it("rule X5: is shared at an endpoint without an answer for two minutes alone, and while it is fresh; by a first attempt after ten refusals in a row", () => {
    const gapMs = fc.constantFrom(0, 1, 1_999, 2_000, 2_001, MINUTE, Gate.RECENT_MS - 1, Gate.RECENT_MS, 10 * MINUTE)
    const step = fc.oneof(
      fc.record({ what: fc.constantFrom("answers", "refusals"), count: fc.integer({ min: 1, max: 40 }), gapMs }),
      fc.record({ what: fc.constant("first"), count: fc.integer({ min: 1, max: 5 }), gapMs }),
      fc.record({
        what: fc.constant("due"),
        count: fc.constantFrom(1_000, 5_000, 30_000, 1_800_000),
        gapMs,
        mayShare: fc.boolean()
      })
    )
    const seen = { first: 0, due: 0 }
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 30, size: "max" }), (steps) => {
        let gate = Gate.open
        let now = T
        let [inRow, answeredAt, refusedAt] = [0, -Infinity, -Infinity]
        for (const { what, count, gapMs, ...rest } of steps) {
          now += gapMs
          if (what === "answers") {
            gate = answers(gate, count, true, now)
            inRow = 0
            answeredAt = now
          } else if (what === "refusals") {
            gate = refusals(gate, count, now)
            inRow += count
            refusedAt = now
          } else if (what === "first") {
            for (let n = 0; n < count; n++) {
              const [answer, next] = Gate.askFirst(gate, now)
              gate = next
              if (answer._tag !== "Share") continue
              seen.first++
              expect(inRow).toBeGreaterThanOrEqual(Gate.FIRST_CERTAIN)
              expect(now - refusedAt).toBeLessThanOrEqual(Gate.FIRST_MS)
            }
          } else {
            const mayShare = "mayShare" in rest && rest.mayShare
            const [answer, next] = Gate.ask(gate, now, { dueAt: now, waitMs: count, mayShare }, gate.under, false)
            gate = next
            if (answer._tag !== "Share") continue
            seen.due++
            expect(mayShare).toBe(true)
            expect(now - answeredAt).toBeGreaterThan(Gate.RECENT_MS)
            // Of its own wait, so that it has not shared it before; and a tenth of that wait old, from 2 s to a minute.
            expect(refusedAt).toBeGreaterThan(now - count)
            expect(now - refusedAt).toBeLessThanOrEqual(Math.min(MINUTE, Math.max(2_000, count / 10)))
          }
        }
      }),
      { numRuns: 500 }
    )
    expect(Math.min(seen.first, seen.due)).toBeGreaterThan(0)
  })
})

describe("early wakes", () => {
  /** It was off, and has answered one call again. */
  const back = answers(dim, 1, false)

  it("rule X5: cost credit, and stop when there is none; shares and answers bring it back", () => {
    let gate = { ...dark, credit: 2 }
    let now = T
    const woken = () => {
      let count = 0
      for (now += 3_600_000; Gate.gift(gate, now, crowd).isFree; now += 3_600_000) {
        const [call, next] = begun(gate, now, true)
        gate = Gate.refused(next, now, call, 0, overloaded)
        count++
      }
      return count
    }
    expect(woken()).toBe(2)
    gate = { ...gate, credit: gate.credit + 1 }
    expect(woken()).toBe(1)
    expect(answers(gate, 20, true).credit).toBeCloseTo(2)
  })

  it("rule X5: that are answered are paid by the calls that the turn would have made, three at most", () => {
    const paid = (share: number) => {
      const [call, gate] = begun({ ...back, share }, T, true)
      return Gate.answered(gate, T, call).credit - gate.credit
    }
    expect(paid(1)).toBeCloseTo(1)
    expect(paid(0.5)).toBeGreaterThan(1.8)
    expect(paid(0.1)).toBe(Gate.REFUND_MOST)
  })

  it("rule X5: are probes while the endpoint is off, never closer than 5 s, and ever rarer after it stopped answering", () => {
    const alone = { count: 1, meanWaitMs: 1e9 }
    const since = (gate: Gate.Gate, waiting = alone) => Gate.gift(gate, T, waiting).againAt - T
    expect(since(dark, crowd)).toBe(Gate.PROBE_MIN_MS)
    const stopped = { ...dim, answeredAt: T - Gate.RECENT_MS - 1, probes: 0 }
    const times = [0, 1, 2, 3, 4, 5].map((probes) => since({ ...stopped, probes }))
    expect(times.slice(0, 5)).toEqual([5_000, 15_000, 45_000, 135_000, 405_000])
    expect(times[5]).toBe(2e9)
    expect(refusals(stopped, 1).probes).toBe(1)
  })

  it("rule X5: probes cost no more than half of the calls that the schedules would make, and a small part for a crowd", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 3_600_000 }), (count, meanWaitMs) => {
        const everyMs = Gate.gift(dark, T, { count, meanWaitMs }).againAt - T
        const bySchedules = meanWaitMs / count
        expect(everyMs).toBeGreaterThanOrEqual(Math.max(Gate.PROBE_MIN_MS, 2 * bySchedules) * (1 - 1e-9))
        if (count === 10_000 && everyMs > Gate.PROBE_MIN_MS) expect(everyMs).toBeGreaterThan(100 * bySchedules)
      })
    )
  })

  it("rule X5: come into free room alone when it answers again: four places, and two more with each answer", () => {
    expect(back).toMatchObject({ isRamp: true, room: 6, answering: 1, proven: 1 })
    expect(Gate.phaseOf(back)).toBe("ramp")
    const [call, gate] = begun({ ...back, under: 5 }, T)
    expect(Gate.gift(gate, T, crowd).isFree).toBe(false)
    expect(Gate.answered(gate, T, call).room).toBe(8)
    expect(Gate.roomOf(back)).toBe(6)
  })

  it("rule X5: a refusal above the answering calls takes the room back to them, and the next try for more comes later", () => {
    let gate = { ...answers(dim, 4, false), credit: 9 }
    for (const patience of [2, 4, 4]) {
      const [call, next] = begun(gate, T + 1)
      gate = Gate.refused(next, T + 1, call, 0, overloaded)
      expect(gate).toMatchObject({ room: 4, patience, raiseIn: 4 * patience, isSlowStart: false })
    }
    expect(Gate.roomOf(gate)).toBe(4)
  })

  it("rule X5: more answers at once than ever are answered by more room with each of them, until a call is refused", () => {
    let gate: Gate.Gate = { ...answers(dim, 4, false), room: 5, reach: 3, isSlowStart: false, raiseIn: 16, patience: 4 }
    for (const room of [6, 7, 8]) {
      const [call, next] = begun(gate)
      gate = Gate.answered(next, T, call)
      expect(gate).toMatchObject({ room, raiseIn: room, patience: 1 })
    }
    // As many answers as before are no news of room.
    const [call, next] = begun(Gate.ended(gate, true))
    expect(Gate.answered(next, T, call)).toMatchObject({ room: 8, raiseIn: 7 })
  })

  it("rule X5: at an endpoint that refuses within its proven load, refusals are chance, and hold no due turn back", () => {
    let gate = Gate.open
    for (let i = 0; i < 40; i++) gate = i % 3 === 0 ? answers(gate, 1, true) : refusals(gate, 1)
    expect(Gate.isOff(gate)).toBe(false)
    expect(Gate.phaseOf(gate)).toBe("open")
    expect(decided(gate, T)).toBe("Go")
  })

  it("rule P5: a hint binds early wakes and probes until a later call is answered, and no other turn's schedule", () => {
    const hint = { retryAfterMs: MINUTE, source: "retry-after" } as const
    const [call, one] = begun(back, T)
    const hinted = Gate.ended(Gate.refused(one, T, call, 0, { ...overloaded, hint }), true)
    expect(Gate.gift(hinted, T + MINUTE - 1, crowd)).toEqual({ isFree: false, againAt: T + MINUTE })
    expect(Gate.gift(hinted, T + MINUTE, crowd).isFree).toBe(true)
    expect(decided(hinted, T + 1, turn, 0)).toBe("Go")
    const [earlier] = begun(hinted, T - 1)
    const [later] = begun(hinted, T + 1)
    expect(Gate.answered(hinted, T + 2, earlier).floor).toBe(T + MINUTE)
    expect(Gate.answered(hinted, T + 2, later).floor).toBe(-Infinity)
  })

  it("rule X5: a place that is free again at an endpoint that is off is worth one try, when its last refusal is 5 s old", () => {
    const busy = refusals(answers(Gate.open, 5, false), 60)
    const off = { ...busy, n: 60, credit: 5, answeredAt: T - Gate.RECENT_MS - 1, triedAt: T + 4_000, probes: 4 }
    expect(Gate.gift(off, T + 5_000, crowd).isFree).toBe(false)
    expect(Gate.gift(Gate.ended(off, true), T + 5_000, crowd).isFree).toBe(true)
  })
})

describe("the counts of a gate", () => {
  it("rule X5: are never negative, and every end takes back its begin", () => {
    type Step = "begin" | "answered" | "refused" | "ended" | "unused"
    const step = fc.constantFrom<Step>("begin", "begin", "answered", "refused", "ended", "unused")
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.nat(20)), { maxLength: 200, size: "max" }), (steps) => {
        let gate = Gate.open
        const flying: Array<{ call: Gate.Call; hasAnswered: boolean }> = []
        steps.forEach(([what, nth], i) => {
          const now = T + 100 * i
          if (what === "begin") {
            const [call, next] = Gate.begin(gate, now, false)
            flying.push({ call, hasAnswered: false })
            gate = next
            return
          }
          const flight = flying[nth]
          if (flight === undefined) return
          const { call, hasAnswered } = flight
          if (what === "answered") {
            if (!hasAnswered) gate = Gate.answered(gate, now, call)
            flight.hasAnswered = true
            return
          }
          flying.splice(nth, 1)
          if (hasAnswered) gate = Gate.ended(gate, true)
          else if (what === "refused") gate = Gate.refused(gate, now, call, 0, overloaded)
          else gate = what === "unused" ? Gate.unused(gate, call) : Gate.ended(gate, false)
        })
        expect(gate.under).toBe(flying.length)
        expect(gate.answering).toBe(flying.filter(({ hasAnswered }) => hasAnswered).length)
        for (const value of Object.values(gate)) if (typeof value === "number") expect(value).not.toBeNaN()
      })
    )
  })
})

describe("after the last waiting turn", () => {
  it("rule X5: what is known of an endpoint that is off is kept for 20 minutes, and otherwise for the time of a write", () => {
    const left = Gate.settled(dark, T)
    expect(Gate.settled(left, T + 5)).toBe(left)
    expect(Gate.entered(left, T + Gate.FORGET_MS - 1)).toEqual(dark)
    expect(Gate.entered(left, T + Gate.FORGET_MS)).toBe(Gate.open)
    const one = Gate.settled(refusals(Gate.open, 1), T)
    expect(Gate.entered(one, T + Gate.BETWEEN_MS - 1).n).toBe(1)
    expect(Gate.entered(one, T + Gate.BETWEEN_MS)).toBe(Gate.open)
    const [, busy] = begun(dark)
    expect(Gate.settled(busy, T)).toBe(busy)
  })
})

describe("a failure that concerns an endpoint", () => {
  it.each(["rate-limited", "quota-exhausted", "overloaded", "server-error", "network", "timeout", "aborted"] as const)(
    "rule X5: %s does, if it is retryable and no bug of ours",
    (reason) => {
      const failure = { reason, message: "", retryable: true }
      expect(Gate.concerns(failure)).toBe(true)
      expect(Gate.concerns({ ...failure, retryable: false })).toBe(false)
      expect(Gate.concerns({ ...failure, defect: true })).toBe(false)
    }
  )

  it.each(["unknown", "invalid-response", "auth", "context-overflow", "refused", "bad-request"] as const)(
    "rule X5: %s concerns one request",
    (reason) => {
      expect(Gate.concerns({ reason, message: "", retryable: true })).toBe(false)
    }
  )
})
