/** Tests the gates of two services with crowds of turns. Their figures are compared with the simulation's. */
import { assert, describe, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Crowd from "../../../../../packages/policy/tools/Crowd.ts"
import {
  type Answers,
  CrowdedEndpoint,
  LATENCY_MS,
  onDisk,
  SERVICE_MS,
  start
} from "../conversation/CrowdedEndpoint.ts"

const MINUTE = 60_000

/** The crowds in the simulation. */
const simulated = (turns: number, answers: Answers, gated: boolean, runners = 1) =>
  Crowd.play({
    turns,
    policy: Profile.profiles.overnight,
    endpoint: { answers, latencyMs: LATENCY_MS, serviceMs: SERVICE_MS },
    arrivalMs: MINUTE,
    gated,
    runners
  })

describe("turns of several runners before one endpoint", () => {
  const until = 20 * MINUTE

  it.effect("rule X5: two crowds find their shares of the room, and the figures are the simulation's", () =>
    onDisk(
      Effect.gen(function* () {
        const answers: Answers = (now, busy) => now >= until && busy < 20
        const endpoint = new CrowdedEndpoint(answers)
        const one = yield* start(endpoint)
        const other = yield* start(endpoint)
        const turns = 240
        for (let n = 0; n < turns; n++) {
          const { conversations } = n % 2 === 0 ? one : other
          yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi" })
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
