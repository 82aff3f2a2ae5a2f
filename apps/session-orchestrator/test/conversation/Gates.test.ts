/** The gates of the service, by what a crowd meets. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { CrowdedEndpoint, onDisk, prompts, SERVICE_MS, start } from "./CrowdedEndpoint.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const TURNS = 200
const ROOM = 10
/** The least time in which the endpoint can answer them all. */
const IDEAL_MS = (TURNS / ROOM) * SERVICE_MS

const crowd = (isUp: (now: number) => boolean, isGated: boolean, turns = TURNS) =>
  onDisk(
    Effect.gen(function* () {
      const from = yield* Clock.currentTimeMillis
      const endpoint = new CrowdedEndpoint((now, busy) => isUp(now - from) && busy < ROOM)
      const service = yield* start({ endpoint, isGated })
      yield* prompts(service, turns, TestClock.adjust)
      for (let hour = 0; hour < 9 && endpoint.answered < turns; hour++) yield* TestClock.adjust(Duration.hours(1))
      return { ...endpoint, refused: endpoint.refused, doneMs: endpoint.doneAt - from }
    })
  )

describe("a crowd before one endpoint", () => {
  it.effect("X5: wastes few calls, and is served in about the time that it takes", () =>
    Effect.gen(function* () {
      const isUp = (now: number) => now >= HOUR
      const gated = yield* crowd(isUp, true)
      const bare = yield* crowd(isUp, false)
      process.stderr.write(JSON.stringify([gated.refused, bare.refused, gated.answered, bare.answered, (gated.doneMs-HOUR)/IDEAL_MS,  (bare.doneMs-HOUR)/IDEAL_MS, bare.calls.filter((c) => c.turnId === "turn-7"), gated.calls.filter((c) => c.turnId === "turn-7")]) + "\n")
      assert.strictEqual(gated.answered, TURNS)
      assert.isAtMost(gated.refused, 0.05 * bare.refused)
      assert.isAtMost(gated.doneMs - HOUR, 1.25 * IDEAL_MS)
    })
  , 60_000)
})
