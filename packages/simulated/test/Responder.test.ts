import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Responder from "../src/Responder.ts"

/** Performs a request of one turn to its end; returns the last action's tag, and the number of token counts. */
const run = (respond: Responder.Responder, model: string) => {
  let counted = 0
  const request: Responder.SimulatedRequest = {
    turn: "a",
    model,
    prompt: "Hello",
    afterTool: false,
    tools: [],
    inputTokens: () => ++counted,
    bytes: () => 0,
    origin: { startedAt: 0, attempts: 0 }
  }
  return { last: [...Result.getOrThrow(respond(request, 0)).actions].at(-1)?._tag, counted }
}

describe("Performance", () => {
  it("a conversation's tokens are counted for the answer, not for the failures before it", () => {
    const respond = Responder.make()
    assert.deepStrictEqual(run(respond, "529,cut"), { last: "Respond", counted: 0 })
    assert.deepStrictEqual(run(respond, "529,cut"), { last: "Cut", counted: 0 })
    assert.deepStrictEqual(run(respond, "529,cut"), { last: "Finish", counted: 1 })
  })
})
