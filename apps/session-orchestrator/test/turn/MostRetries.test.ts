import { expect, it } from "@effect/vitest"
import { Profile } from "@holdfast/policy"
import * as MostRetries from "../../src/turn/MostRetries.ts"

it("a number that is set wins, the budget counts otherwise, and without an end there is none", () => {
  expect(MostRetries.of(Profile.resolve({ profile: "interactive" }))).toBe(3)
  const overnight = Profile.resolve(undefined)
  expect(MostRetries.of(overnight)).toBe(21)
  expect(MostRetries.of({ ...overnight, enabled: false })).toBe(21)
  expect(MostRetries.of({ ...overnight, budget: { ...overnight.budget, totalMs: 20_000 } })).toBe(2)
  expect(MostRetries.of({ ...overnight, counts: "attempts", maxRetries: 4 })).toBe(3)
  expect(MostRetries.of({ ...overnight, budget: { measure: "scheduled", clip: false } })).toBeUndefined()
})
