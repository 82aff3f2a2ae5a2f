import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import * as Prompt from "../src/Prompt.ts"
import { request } from "./harness/Dialect.ts"

const idOf = (turnId: string, step: number, n: number) =>
  Prompt.callId({ ...request, turnId: Ids.TurnId.make(turnId), step })(n)

describe("the id of a call that its provider did not name", () => {
  it("is the same when the turn is run again, and another one for another turn, step or call", () => {
    const turns = ["019aa0d2-9b1c-7c3e-8a55-0123456789ab", "019aa0d2-9b1c-7c3e-8a55-0123456789ac", "t1", "t2"]
    const all = () => turns.flatMap((turn) => [0, 1].flatMap((step) => [0, 1].map((n) => idOf(turn, step, n))))
    expect(all()).toEqual(all())
    expect(new Set(all()).size).toBe(16)
  })

  it("is made of the end of the turn's id, and fits into the 40 characters that OpenAI takes", () => {
    const id = idOf("019aa0d2-9b1c-7c3e-8a55-0123456789ab", 9_999, 9_999)
    expect(id).toBe("call_3e-8a55-0123456789ab_9999_9999")
    expect(id.length).toBeLessThanOrEqual(40)
  })
})
