/** Tests the gate by simulated crowds, with the functions that the service runs. */
import { Duration } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Profile from "../../src/profile/Profile.ts"
import * as Crowd from "../../tools/Crowd.ts"
import * as CrowdWorlds from "../../tools/CrowdWorlds.ts"

const { HOUR, MARKS, MINUTE, SECOND } = CrowdWorlds
const policy = Profile.profiles.overnight
/** The sleep of the whole schedule (D1). */
const SCHEDULE_MS = 27_105 * SECOND
const ATTEMPTS = 22

const worldsOf = (pattern: RegExp) =>
  CrowdWorlds.worlds.filter(({ name }) => pattern.test(name)).map((world) => [world.name, world] as const)

const endpoint = (isUp: (now: number) => boolean, room = 20): Crowd.Endpoint => ({
  latencyMs: SECOND,
  serviceMs: 10 * SECOND,
  answers: (now, busy) => isUp(now) && busy < room
})

/** Calls at an endpoint that answers some, against a crowd without a gate and with the same luck (`CrowdWorlds.luckOf`). */
const CALLS_MOST = 1.02

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)

/** Endpoints that answer by chance, within their room, while they are up; from time to time they are down. */
const endpoints = fc
  .record({
    share: fc.constantFrom(0, 0.02, 0.1, 0.4, 0.7, 1),
    room: fc.integer({ min: 1, max: 60 }),
    periods: fc.array(
      fc.record({ upMs: fc.integer({ min: 1, max: HOUR }), downMs: fc.integer({ min: 0, max: 2 * HOUR }) }),
      { minLength: 1, maxLength: 8 }
    ),
    latencyMs: fc.constantFrom(20, SECOND, 30 * SECOND),
    seed: fc.integer()
  })
  .map(({ latencyMs, periods, room, seed, share }): (() => Crowd.Endpoint) => {
    const total = sum(periods.map(({ downMs, upMs }) => upMs + downMs))
    const isUp = (now: number): boolean => {
      let at = now % total
      for (const { downMs, upMs } of periods) {
        if (at < downMs) return false
        at -= downMs
        if (at < upMs) return true
        at -= upMs
      }
      return true
    }
    return () => {
      const random = CrowdWorlds.randomOf(seed)
      const serviceMs = latencyMs + 5 * SECOND
      return { latencyMs, serviceMs, answers: (now, busy) => isUp(now) && busy < room && random() < share }
    }
  })

describe("a crowd at the gate", () => {
  it.each(
    worldsOf(/^down for .* room for 20+, (1,000|10,000) turns$/).filter(([name]) => !/room for 200, 1,000/.test(name))
  )(
    "rule X5: %s: nobody gives up, it wastes at most 0.035 of the calls without a gate, and takes 1.1 times the ideal",
    (_, world) => {
      const seeds = 3
      const gate = CrowdWorlds.play(world, true, seeds)
      const none = CrowdWorlds.play(world, false, seeds)
      const ideal = CrowdWorlds.ideal(world, seeds)
      expect(gate.gaveUp).toBe(0)
      expect(gate.wasted).toBeLessThanOrEqual(0.035 * none.wasted)
      expect(gate.drainMs).toBeLessThanOrEqual(1.1 * (ideal?.drainMs ?? 0))
    }
  )

  it.each([
    ...worldsOf(/^(90|70|40|10) % .*, (60|120|1,000) turns$/),
    ...worldsOf(/^(70 %|0, 20).*/),
    ...worldsOf(/^(40|10) % .*two runners/)
  ])("rule X5: %s: at no time are fewer answered than without a gate, and the calls are as many", (_, world) => {
    const seeds = world.turns > 500 ? 10 : 60
    const gate = CrowdWorlds.play(world, true, seeds)
    const none = CrowdWorlds.play(world, false, seeds)
    // At one answered call in ten, a crowd's first 28 refusals may be chance, and the gate takes the endpoint for down (`Gate.sure`).
    const tolerance = world.name.startsWith("10 %") ? 0.005 : 0
    MARKS.forEach((mark, i) =>
      expect(gate.answeredBy[i], `after ${mark / SECOND} s`).toBeGreaterThanOrEqual(
        (none.answeredBy[i] ?? 0) - tolerance
      )
    )
    expect(gate.calls).toBeLessThanOrEqual(CALLS_MOST * none.calls)
    expect(gate.gaveUp).toBeLessThanOrEqual(none.gaveUp)
  })

  it.each([0.1, 0.4, 0.7, 0.9])(
    "rule X5: at an endpoint that always answers %d, it takes 1/%d calls an answer",
    (share) => {
      const random = CrowdWorlds.randomOf(7)
      const endpoint: Crowd.Endpoint = { answers: () => random() < share, latencyMs: 500, serviceMs: SECOND }
      const { answered, calls } = Crowd.play({ turns: 2_000, policy, endpoint, arrivalMs: MINUTE, gated: true })
      expect((calls * share) / answered).toBeGreaterThan(0.93)
      expect((calls * share) / answered).toBeLessThan(1.07)
    }
  )

  it.each(worldsOf(/^(30 s up|20 calls|never down|down for 30 min, room for (5|200, (20|1,000)))/))(
    "rule X5: %s: all are answered, sooner and with fewer calls than without a gate",
    (_, world) => {
      const gate = CrowdWorlds.play(world, true, 3)
      const none = CrowdWorlds.play(world, false, 3)
      expect(gate.gaveUp).toBe(0)
      for (const key of ["p50", "p90", "p99", "last"] as const) expect(gate[key]).toBeLessThanOrEqual(none[key])
      expect(gate.calls).toBeLessThan(0.76 * none.calls)
    }
  )

  it("rule X5: an endpoint that is back gets at most three times what it has room for, and that for a few seconds", () => {
    const [room, backMs] = [20, 30 * MINUTE]
    const refusedAt: Array<number> = []
    const above: Array<number> = []
    const { serviceMs, latencyMs } = endpoint(() => true)
    const answers = (now: number, busy: number): boolean => {
      if (now < backMs) return false
      const pending = refusedAt.filter((at) => at > now - latencyMs).length
      if (busy + pending > 1.2 * room) above.push(now)
      expect(busy + pending).toBeLessThanOrEqual(3 * room)
      if (busy < room) return true
      refusedAt.push(now)
      return false
    }
    Crowd.play({ turns: 1_000, policy, endpoint: { answers, serviceMs, latencyMs }, arrivalMs: MINUTE, gated: true })
    expect((above.at(-1) ?? 0) - (above[0] ?? 0)).toBeLessThanOrEqual(5 * latencyMs)
  })

  it("rule X5: a turn that is always refused while others are answered is woken early ever more rarely, and delays nobody", () => {
    for (const [, world] of worldsOf(/one turn never/)) {
      const gate = CrowdWorlds.play(world, true, 20)
      const none = CrowdWorlds.play(world, false, 20)
      expect(gate.earlyOfBad).toBeLessThanOrEqual(8)
      for (const key of ["p50", "p90", "p99"] as const) expect(gate[key]).toBeLessThanOrEqual(1.02 * none[key] + 100)
    }
  })

  it("rule D2: a turn that is always refused while others are answered has the whole of its schedule", () => {
    const endpoint: Crowd.Endpoint = {
      answers: (_now, _busy, turn) => turn !== 0,
      latencyMs: 500,
      serviceMs: 5 * SECOND
    }
    const arrivalMs = Array.from({ length: 3_000 }, (_, i) => 10 * SECOND * i)
    const [bad] = Crowd.play({ turns: 3_000, policy, endpoint, arrivalMs, gated: true }).turns
    expect(bad?.gaveUpAt).toBeGreaterThanOrEqual(SCHEDULE_MS)
    expect(bad?.sleptMs).toBe(SCHEDULE_MS)
    expect(bad?.early).toBeGreaterThan(3)
    expect(bad?.early).toBeLessThanOrEqual(26)
  })

  it("rule D1, D2: each turn has the whole of its budget, by sleep and by wall-clock, whenever it comes", () => {
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

  it("rule X5: a turn that waits alone keeps its schedule to the millisecond", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8 * HOUR }), (until) => {
        const alone = { turns: 1, policy, endpoint: endpoint((now) => now >= until), arrivalMs: MINUTE }
        expect(Crowd.play({ ...alone, gated: true })).toEqual(Crowd.play({ ...alone, gated: false }))
      })
    )
  })

  it("rule X5, D2: for any endpoint every turn ends, with its own schedule and budget, and early calls are paid from saved ones", () => {
    fc.assert(
      fc.property(endpoints, fc.integer({ min: 1, max: 60 }), fc.constantFrom(1, 2), (made, turns, runners) => {
        const outcome = Crowd.play({ turns, policy, endpoint: made(), arrivalMs: SECOND, gated: true, runners })
        // No lost wake: each is answered or has given up.
        expect(outcome.answered + outcome.gaveUp).toBe(turns)
        expect(outcome.calls).toBe(outcome.answered + outcome.wasted)
        const of = (f: (turn: Crowd.TurnOutcome) => number) => sum(outcome.turns.map(f))
        // The credit of each runner's gate.
        const paid = 2 * runners + of(({ sharedAt }) => sharedAt.length) + 0.1 * outcome.answered
        expect(of(({ early }) => early)).toBeLessThanOrEqual(paid + 3 * of(({ isEarly }) => (isEarly ? 1 : 0)))
        for (const { arrivedAt, calls, doneAt, early, gaveUpAt, sharedAt, sleptMs } of outcome.turns) {
          expect(sleptMs).toBeLessThanOrEqual(SCHEDULE_MS)
          const own = calls - early + sharedAt.length
          // A call before the time that fails after it is the attempt of its time.
          if (gaveUpAt < Infinity) {
            expect(sleptMs).toBe(SCHEDULE_MS)
            expect(own).toBeLessThanOrEqual(ATTEMPTS)
            expect(calls + sharedAt.length).toBeGreaterThanOrEqual(ATTEMPTS)
            expect(calls).toBeGreaterThan(0)
            expect(sharedAt).not.toContain(gaveUpAt)
          }
          // The schedule, a call for each attempt, and holds: at most ten minutes since the last answer each.
          const end = Math.min(doneAt, gaveUpAt)
          expect(end - arrivedAt).toBeLessThanOrEqual(
            SCHEDULE_MS + ATTEMPTS * (35 * SECOND + 10 * MINUTE) + turns * 10 * MINUTE
          )
        }
      }),
      { numRuns: 150 }
    )
  })

  it("rule X5: two runners make at most 0.15 more calls than one at an endpoint that answers some", () => {
    for (const [name, two] of worldsOf(/% .*two runners/)) {
      const one = CrowdWorlds.play({ ...two, runners: 1 }, true, 20)
      expect(CrowdWorlds.play(two, true, 20).calls, name).toBeLessThanOrEqual(1.05 * one.calls)
    }
  })

  it("rule X5: two runners find their shares of the room, and where one has left the other takes all of it", () => {
    for (const [name, two] of worldsOf(/^down .*two runners/)) {
      const gate = CrowdWorlds.play(two, true, 20)
      expect(gate.drainMs / (CrowdWorlds.ideal(two, 20)?.drainMs ?? 0), name).toBeLessThanOrEqual(1.5)
      expect(gate.wasted, name).toBeLessThanOrEqual(0.12 * CrowdWorlds.play(two, false, 20).wasted)
    }
  })
})
