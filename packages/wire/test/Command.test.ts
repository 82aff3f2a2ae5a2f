import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Command from "../src/Command.ts"
import * as ConversationsGroup from "../src/api/ConversationsGroup.ts"

const overSocket = Schema.decodeUnknownResult(Command.Command)
const overHttp = Schema.decodeUnknownResult(ConversationsGroup.bodies.extendBudget)

const isTaken = (byMs: unknown): readonly [boolean, boolean] => [
  Result.isSuccess(overSocket({ type: "extend-budget", conversationId: "c-1", byMs })),
  Result.isSuccess(overHttp({ byMs }))
]

describe("Command", () => {
  it("rule X4: a budget is extended by a year at most, so that its sum stays a number that can be recorded", () => {
    for (const byMs of [1, 7_200_000, 365 * 86_400_000]) assert.deepStrictEqual(isTaken(byMs), [true, true])
    for (const byMs of [0, -1, Number.NaN, 365 * 86_400_000 + 1, 1e308]) {
      assert.deepStrictEqual(isTaken(byMs), [false, false])
    }
  })

  it("rule X4: an invalid extension is rejected with the expected range", () => {
    const refused = overHttp({ byMs: 1e308 })
    assert.include(
      Result.isFailure(refused) ? refused.failure.message : "",
      "expected a number of milliseconds above 0, a year (31536000000) at most"
    )
  })
})
