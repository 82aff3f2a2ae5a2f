/** Tests that a dry run has the attempts, waits and ends of the service. `HOLDFAST_DRY_RUNS=1000` runs more nights. */
import { assert, describe } from "@effect/vitest"
import { Property } from "@holdfast/kernel/testing"
import { Effect } from "effect"
import { dry, served } from "./Beside.ts"
import { limitedNight, night, sharedNight } from "./Nights.ts"

const RUNS = Number(process.env["HOLDFAST_DRY_RUNS"] ?? 8)

describe("a dry run beside the service", () => {
  for (const [title, nights] of [
    ["rule X10: has the same attempts, waits and ends, to the millisecond, without gates", night(false)],
    ["rule X10: has the same with gates", night(true)],
    ["rule X10: has the same where turns share routes, credentials, gates and the limits of providers", sharedNight()],
    ["rule X10: has the same refusals and questions at limits of spending", limitedNight()]
  ] as const)
    Property.prop(
      title,
      nights,
      (night) => Effect.map(served(night), (expected) => assert.deepStrictEqual(dry(night), expected)),
      { numRuns: RUNS }
    )
})
