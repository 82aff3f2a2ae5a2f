import { expect, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import * as TurnPlan from "../../../src/engine/turn/TurnPlan.ts"

it("a number that is set wins, the budget counts otherwise, and without an end there is none", () => {
  expect(TurnPlan.mostRetriesOf(Profile.resolve({ profile: "interactive" }))).toBe(3)
  const overnight = Profile.resolve(undefined)
  expect(TurnPlan.mostRetriesOf(overnight)).toBe(21)
  expect(TurnPlan.mostRetriesOf({ ...overnight, enabled: false })).toBe(21)
  expect(TurnPlan.mostRetriesOf({ ...overnight, budget: { ...overnight.budget, totalMs: 20_000 } })).toBe(2)
  expect(TurnPlan.mostRetriesOf({ ...overnight, counts: "attempts", maxRetries: 4 })).toBe(3)
  expect(TurnPlan.mostRetriesOf({ ...overnight, budget: { measure: "scheduled", clip: false } })).toBeUndefined()
})
