/** Tests the gates in the whole service with crowds of turns. Their figures are compared with the simulation's. */
import { assert, describe, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Crowd from "../../../../../packages/policy/tools/Crowd.ts"
import * as CrowdWorlds from "../../../../../packages/policy/tools/CrowdWorlds.ts"
import {
  type Answers,
  CrowdedEndpoint,
  LATENCY_MS,
  onDisk,
  prompts,
  SERVICE_MS,
  start,
  turnIdOf
} from "../conversation/CrowdedEndpoint.ts"

const MINUTE = 60_000

/** A crowd in the service, and the same crowd in the simulation. */
const crowd = (turns: number, answers: Answers) =>
  onDisk(
    Effect.gen(function* () {
      const endpoint = new CrowdedEndpoint(answers)
      const service = yield* start({ endpoint })
      yield* prompts(service, turns, TestClock.adjust)
      for (let hour = 0; hour < 9 && endpoint.answered < turns; hour++) yield* TestClock.adjust(Duration.hours(1))
      return endpoint
    })
  )

const simulated = (turns: number, answers: Answers, gated: boolean, runners = 1) =>
  Crowd.play({
    turns,
    policy: Profile.profiles.overnight,
    endpoint: { answers, latencyMs: LATENCY_MS, serviceMs: SERVICE_MS },
    arrivalMs: MINUTE,
    gated,
    runners
  })

describe("a crowd before one endpoint", () => {
  it.effect("rule X5: 400 turns waste few calls, and are served in about the minimum time", () =>
    Effect.gen(function* () {
      const [turns, room] = [400, 20]
      const until = 5 * MINUTE
      const answers: Answers = (now, busy) => now >= until && busy < room
      const idealMs = (turns / room) * SERVICE_MS
      const endpoint = yield* crowd(turns, answers)
      assert.strictEqual(endpoint.answered, turns)
      assert.isAtMost(endpoint.refused, 0.1 * simulated(turns, answers, false).wasted)
      assert.isAtMost(endpoint.doneAt - until, 1.25 * idealMs)
      // The page's figures are the simulation's: the service has to match them.
      const expected = simulated(turns, answers, true)
      assert.closeTo(endpoint.refused, expected.wasted, 0.05 * expected.wasted)
      assert.closeTo(endpoint.doneAt - until, expected.doneMs - until, 0.05 * (expected.doneMs - until))
    })
  )
})

describe("a crowd before an endpoint that answers some", () => {
  const OUTCOME_MS = 20

  const answersOf = (share: number, seed: number): Answers => {
    const luck = CrowdWorlds.luckOf(seed)
    return (_now, _busy, turn) => luck(turn) < share && turn > 0
  }

  /** When the turns of a crowd are answered in the service, in milliseconds, in its first three minutes. */
  const ends = (gates: "none" | "own", turns: number, answers: Answers) =>
    onDisk(
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        const endpoint = new CrowdedEndpoint(answers)
        endpoint.latencyMs = endpoint.serviceMs = OUTCOME_MS
        const service = yield* start({ endpoint, gates })
        yield* prompts(service, turns, TestClock.adjust, turns)
        yield* TestClock.adjust(3 * MINUTE - turns)
        return endpoint.ends.map((at) => at - from)
      })
    )

  /**
   * The crowd with the gate and without, whose first turn is always refused, and simulations of it with the gate: a millisecond between two calls
   * decides which turn is woken, so each simulation has others.
   */
  const played = Effect.fnUntraced(function* (share: number, turns: number, seed: number) {
    const answers = () => answersOf(share, seed)
    const simulation = (slower: number) =>
      Crowd.play({
        turns,
        policy: Profile.profiles.overnight,
        endpoint: { answers: answers(), latencyMs: OUTCOME_MS, serviceMs: OUTCOME_MS },
        arrivalMs: slower * turns,
        gated: true
      }).turns.map(({ doneAt }) => doneAt)
    return {
      gate: yield* ends("own", turns, answers()),
      none: yield* ends("none", turns, answers()),
      simulations: [1, 1.01, 1.1, 1.5, 2].map(simulation)
    }
  })

  const by = (times: ReadonlyArray<number>, at: number): number => times.filter((time) => time <= at).length

  it.effect(
    "rule X5: at one that answers 40 of a hundred calls, no fewer are answered, and as many as in the simulation",
    () =>
      Effect.gen(function* () {
        const { gate, none, simulations } = yield* played(0.4, 100, 7)
        for (const mark of [30, 60, 120, 170].map((s) => s * 1_000)) {
          const answered = by(gate, mark)
          const simulated = simulations.map((times) => by(times, mark))
          assert.isAtLeast(answered, by(none, mark))
          assert.isAtLeast(answered, Math.min(...simulated) - 2)
          assert.isAtMost(answered, Math.max(...simulated) + 2)
        }
      })
  )
})

describe("turns of several runners before one endpoint", () => {
  const until = 20 * MINUTE

  it.effect("rule X5: two crowds find their shares of the room, and the figures are the simulation's", () =>
    onDisk(
      Effect.gen(function* () {
        const answers: Answers = (now, busy) => now >= until && busy < 20
        const endpoint = new CrowdedEndpoint(answers)
        const one = yield* start({ endpoint, gates: "shared" })
        const other = yield* start({ endpoint, gates: "shared" })
        const turns = 240
        for (let n = 0; n < turns; n++) {
          const { conversations } = n % 2 === 0 ? one : other
          const id = yield* conversations.create({})
          yield* conversations.prompt(id, { prompt: "Hi", turnId: turnIdOf(n) })
          yield* TestClock.adjust(MINUTE / turns)
        }
        for (let hour = 0; hour < 9 && endpoint.answered < turns; hour++) yield* TestClock.adjust("1 hour")
        assert.strictEqual(endpoint.answered, turns)
        const expected = simulated(turns, answers, true, 2)
        assert.isAtMost(endpoint.refused, 0.2 * simulated(turns, answers, false).wasted)
        assert.closeTo(endpoint.refused, expected.wasted, 0.1 * expected.wasted)
        assert.closeTo(endpoint.doneAt - until, expected.doneMs - until, 0.15 * (expected.doneMs - until))
      })
    )
  )
})
