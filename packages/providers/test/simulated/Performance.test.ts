import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Performance from "../../src/simulated/Performance.ts"

/** Plays a request of one turn to its end: the last cue's tag, and how often its tokens were counted. */
const play = (begin: Performance.Begin, model: string) => {
  let counted = 0
  const request: Performance.Request = {
    turn: "a",
    model,
    prompt: "Hello",
    afterTool: false,
    tools: [],
    inputTokens: () => ++counted,
    origin: { startedAt: 0, attempts: 0 }
  }
  return { last: [...Result.getOrThrow(begin(request, 0))].at(-1)?._tag, counted }
}

describe("Performance", () => {
  it("a conversation's tokens are counted by the answer, and by no failure before it", () => {
    const begin = Performance.make()
    assert.deepStrictEqual(play(begin, "529,cut"), { last: "Respond", counted: 0 })
    assert.deepStrictEqual(play(begin, "529,cut"), { last: "Cut", counted: 0 })
    assert.deepStrictEqual(play(begin, "529,cut"), { last: "Finish", counted: 1 })
  })
})
