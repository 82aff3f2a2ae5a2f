import { expect, it } from "@effect/vitest"
import { BodyBudget } from "../../../src/base/system/BodyBudget.ts"

it("a request alone has all the room, and others what it leaves, until it gives its bytes back", () => {
  const budget = new BodyBudget(10)
  const [first, second] = [budget.open(), budget.open()]
  expect([first.take(11), second.take(0), first.take(1)]).toEqual([true, false, true])
  for (let times = 0; times < 2; times++) first.release()
  expect([second.take(6), first.take(4), first.take(1), second.take(1)]).toEqual([true, true, false, false])
  second.release()
  expect([first.take(9), second.take(1)]).toEqual([true, false])
  first.release()
  expect([second.take(1), first.take(10)]).toEqual([true, false])
})
