import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Wait from "../src/Wait.ts"

/** An event of a machine, some awake time after the last event. */
interface Happening {
  readonly afterMs: number
  readonly kind: "suspend" | "step"
  /** How long it was suspended; or by how much the clock was set, either way. */
  readonly byMs: number
}

/** A machine: `trueMs` is the true time, which no clock of the machine shows. */
interface Machine {
  trueMs: number
  wallMs: number
  monotonicMs: number
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const LONGEST_MS = 60 * DAY

/** Runs a wait as `Timer` does, and returns when it was over and the time of each reading. */
const live = (lengthMs: number, happenings: ReadonlyArray<Happening>) => {
  const machine: Machine = { trueMs: 0, wallMs: 1_750_000_000_000, monotonicMs: 5000 }
  const start = { ...machine }
  const coming = [...happenings]
  let untilNext = coming[0]?.afterMs ?? Number.POSITIVE_INFINITY
  const awake = (ms: number) => {
    machine.trueMs += ms
    machine.wallMs += ms
    machine.monotonicMs += ms
    untilNext -= ms
  }
  const sleep = (ms: number) => {
    let left = ms
    while (untilNext <= left) {
      left -= untilNext
      awake(untilNext)
      const happening = coming.shift()
      if (happening?.kind === "suspend") machine.trueMs += happening.byMs
      if (happening !== undefined) machine.wallMs += happening.byMs
      untilNext = coming[0]?.afterMs ?? Number.POSITIVE_INFINITY
    }
    awake(left)
  }

  const wait = Wait.until(start.wallMs + lengthMs, machine)
  const wrongSleeps: Array<number> = []
  let [monotonicMsBefore, trueMsBefore] = [start.monotonicMs, start.trueMs]
  for (let next = Wait.next(wait, machine); next._tag === "Sleep"; next = Wait.next(wait, machine)) {
    if (!isTimerLength(next.sleepMs)) wrongSleeps.push(next.sleepMs)
    monotonicMsBefore = machine.monotonicMs
    trueMsBefore = machine.trueMs
    sleep(next.sleepMs)
  }
  return {
    /** Sleeps that no timer has. */
    wrongSleeps,
    /** Awake time since the reading before the last one. */
    lastStretchMs: machine.monotonicMs - monotonicMsBefore,
    trueMs: machine.trueMs,
    monotonicMs: machine.monotonicMs - start.monotonicMs,
    trueMsBefore
  }
}

/** Weighted to what retries use; up to sixty days, which are 172,800 readings. */
const lengths = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 30 * MINUTE }), weight: 10 },
  { arbitrary: fc.integer({ min: 1, max: DAY }), weight: 8 },
  { arbitrary: fc.integer({ min: 1, max: LONGEST_MS }), weight: 1 },
  { arbitrary: fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1), weight: 1 }
)
const happening = (kind: Happening["kind"], byMs: fc.Arbitrary<number>) =>
  fc.record({ afterMs: fc.integer({ min: 0, max: 20 * MINUTE }), kind: fc.constant(kind), byMs })
const suspends = happening("suspend", fc.integer({ min: 0, max: DAY }))
const stepsBack = happening("step", fc.integer({ min: -DAY, max: 0 }))
const steps = happening("step", fc.integer({ min: -DAY, max: DAY }))

const isTimerLength = (ms: number) => Number.isInteger(ms) && ms >= 1 && ms <= Wait.LONGEST_CHUNK_MS

const runs = { numRuns: 200 }

describe("Wait", () => {
  it("on a machine without events a wait takes exactly its length", () => {
    fc.assert(
      fc.property(lengths, (lengthMs) => {
        expect(live(lengthMs, []).trueMs).toBe(lengthMs)
      }),
      runs
    )
  })

  it("whatever the clock is set to, a wait takes no longer than its length of awake time", () => {
    fc.assert(
      fc.property(lengths, fc.array(fc.oneof(steps, suspends), { maxLength: 12 }), (lengthMs, happenings) => {
        expect(live(lengthMs, happenings).monotonicMs).toBeLessThanOrEqual(lengthMs)
      }),
      runs
    )
  })

  it("rule X1: a clock that is set back neither prolongs a wait nor shortens it", () => {
    fc.assert(
      fc.property(lengths, fc.array(stepsBack, { maxLength: 12 }), (lengthMs, happenings) => {
        expect(live(lengthMs, happenings).trueMs).toBe(lengthMs)
      }),
      runs
    )
  })

  it("rule D11: a machine that was suspended past the end finds the wait over within 30 s of being awake", () => {
    fc.assert(
      fc.property(lengths, fc.array(suspends, { maxLength: 12 }), (lengthMs, happenings) => {
        const lived = live(lengthMs, happenings)
        expect(lived.trueMs).toBeGreaterThanOrEqual(lengthMs)
        expect(lived.trueMsBefore).toBeLessThan(lengthMs)
        expect(lived.lastStretchMs).toBeLessThanOrEqual(Wait.LONGEST_CHUNK_MS)
      }),
      runs
    )
  })

  it("rule X1: a clock that is set forward shortens a wait by no more than it was set", () => {
    fc.assert(
      fc.property(lengths, fc.array(fc.oneof(steps, suspends), { maxLength: 12 }), (lengthMs, happenings) => {
        const forwardMs = happenings
          .filter(({ byMs, kind }) => kind === "step" && byMs > 0)
          .reduce((sum, { byMs }) => sum + byMs, 0)
        expect(live(lengthMs, happenings).trueMs).toBeGreaterThanOrEqual(lengthMs - forwardMs)
      }),
      runs
    )
  })

  it("rule X1: a clock that is set forward and put right before the end comes changes nothing", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3 * MINUTE, max: DAY }), fc.integer({ min: 0, max: MINUTE }), (lengthMs, byMs) => {
        const lived = live(lengthMs, [
          { afterMs: MINUTE, kind: "step", byMs },
          { afterMs: MINUTE - 1, kind: "step", byMs: -byMs }
        ])
        expect(lived.trueMs).toBe(lengthMs)
      }),
      runs
    )
  })

  it("every sleep is at least a millisecond, and fits every timer", () => {
    fc.assert(
      fc.property(lengths, fc.array(fc.oneof(steps, suspends), { maxLength: 12 }), (lengthMs, happenings) => {
        expect(live(lengthMs, happenings).wrongSleeps).toEqual([])
      }),
      runs
    )
  })

  it("a wait with a past end is over at once", () => {
    const now = { wallMs: 1000, monotonicMs: 50 }
    expect(Wait.next(Wait.until(1000, now), now)).toEqual({ _tag: "Done" })
    expect(Wait.next(Wait.until(-5, now), now)).toEqual({ _tag: "Done" })
  })
})

it("the clocks are read again after at most 30 seconds, and after at least a millisecond", () => {
  const now = { wallMs: 0, monotonicMs: 0 }
  const sleepMs = (endMs: number) => Wait.next(Wait.until(endMs, now), now)
  expect(sleepMs(3_600_000)).toEqual({ _tag: "Sleep", sleepMs: 30_000 })
  expect(sleepMs(29_999)).toEqual({ _tag: "Sleep", sleepMs: 29_999 })
  expect(sleepMs(0.25)).toEqual({ _tag: "Sleep", sleepMs: 1 })
  expect([sleepMs(0), sleepMs(-1)]).toEqual([{ _tag: "Done" }, { _tag: "Done" }])
})
