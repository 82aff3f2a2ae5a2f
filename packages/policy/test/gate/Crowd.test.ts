/** Tests the gate by simulated crowds, with the functions that the service runs. */
import { Duration } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Crowd from "../../src/gate/Crowd.ts"
import * as Profile from "../../src/profile/Profile.ts"

const HOUR = 3_600_000
const MINUTE = 60_000
const ROOM = 20
const SERVICE_MS = 10_000
const TURNS = 1_000
/** The least time in which an endpoint with this room can answer them all. */
const IDEAL_MS = (TURNS / ROOM) * SERVICE_MS

const endpoint = (isUp: (now: number) => boolean, room = ROOM): Crowd.Endpoint => ({
  latencyMs: 1_000,
  serviceMs: SERVICE_MS,
  answers: (now, busy) => isUp(now) && busy < room
})

const play = (isUp: (now: number) => boolean, gated: boolean, turns = TURNS, arrivalMs = MINUTE) =>
  Crowd.play({ turns, policy: Profile.profiles.overnight, endpoint: endpoint(isUp), arrivalMs, gated })

describe("a crowd at the gate", () => {
  it.each([
    ["7 hours", 7 * HOUR],
    ["1 hour", HOUR],
    ["2 minutes", 2 * MINUTE]
  ])("X5: after %s a crowd of 1,000 wastes few calls, and is served in nearly the shortest time", (_, until) => {
    const isUp = (now: number) => now >= until
    const gate = play(isUp, true)
    const bare = play(isUp, false)
    expect(gate.answered).toBe(TURNS)
    expect(gate.wasted).toBeLessThanOrEqual(0.05 * bare.wasted)
    expect(gate.doneMs - until).toBeLessThanOrEqual(1.25 * IDEAL_MS)
  })

  it.each([
    ["minute", MINUTE],
    ["ten minutes", 10 * MINUTE]
  ])("X5: an endpoint that fails and recovers every %s is called little more often than it answers", (_, periodMs) => {
    const from = 20 * MINUTE
    let calls = 0
    const outcome = play((now) => {
      if (now >= from) calls++
      return now >= from && Math.floor((now - from) / periodMs) % 2 === 0
    }, true)
    expect(outcome.answered).toBe(TURNS)
    expect(calls / outcome.answered).toBeLessThanOrEqual(1.1)
  })

  it("D1, D2: each turn has the whole of its budget, by sleep and by wall-clock, whenever it comes", () => {
    const calls = (settings: Parameters<typeof Profile.resolve>[0]) =>
      Crowd.play({
        turns: 4,
        policy: Profile.resolve(settings),
        endpoint: endpoint(() => false),
        arrivalMs: 24 * HOUR,
        gated: false
      })
    // 5 s, 10 s and 30 s of sleep; by wall-clock two calls of a second between them.
    expect(calls({ budget: Duration.seconds(45) })).toMatchObject({ calls: 4 * 4, gaveUp: 4 })
    expect(calls({ budget: Duration.millis(44_999) })).toMatchObject({ calls: 4 * 3, gaveUp: 4 })
    expect(calls({ budget: Duration.seconds(47), measure: "wall-clock" })).toMatchObject({ calls: 4 * 4, gaveUp: 4 })
    expect(calls({ budget: Duration.millis(46_999), measure: "wall-clock" })).toMatchObject({ calls: 4 * 3 })
  })

  it("X5: a turn that waits alone keeps its schedule to the millisecond", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 * HOUR }), (until) => {
        const isUp = (now: number) => now >= until
        expect(play(isUp, true, 1)).toEqual(play(isUp, false, 1))
      })
    )
  })

  it("X5: for any endpoint every turn ends, and none later than its schedule allows", () => {
    const period = fc.record({ upMs: fc.integer({ min: 1, max: HOUR }), downMs: fc.integer({ min: 1, max: 2 * HOUR }) })
    fc.assert(
      fc.property(
        fc.array(period, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: HOUR }),
        (periods, turns, room, arrivalMs) => {
          const policy = Profile.profiles.overnight
          const outcome = Crowd.play({ turns, policy, endpoint: endpoint(upIn(periods), room), arrivalMs, gated: true })
          expect(outcome.answered + outcome.gaveUp).toBe(turns)
          expect(outcome.calls).toBe(outcome.answered + outcome.wasted)
          // The budget of 8 hours, and a call and a hold of some seconds for each of 22 attempts.
          expect(outcome.doneMs).toBeLessThanOrEqual(arrivalMs + 8 * HOUR + 22 * 2 * SERVICE_MS * turns)
        }
      ),
      { numRuns: 200 }
    )
  })
})

const upIn = (periods: ReadonlyArray<{ readonly upMs: number; readonly downMs: number }>) => {
  const total = periods.reduce((sum, { upMs, downMs }) => sum + upMs + downMs, 0)
  return (now: number): boolean => {
    let at = now % total
    for (const { upMs, downMs } of periods) {
      if (at < downMs) return false
      at -= downMs
      if (at < upMs) return true
      at -= upMs
    }
    return true
  }
}
