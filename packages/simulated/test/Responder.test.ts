import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Responder from "../src/Responder.ts"
import { scriptCache } from "../src/Responder.ts"
import * as Syntax from "../src/script/Syntax.ts"

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

describe("Scripts", () => {
  it("a name is parsed once, with the same result as the syntax", () => {
    const scripts = scriptCache()
    const first = Result.getOrThrow(scripts("429x2,502"))
    assert.deepStrictEqual(first, Result.getOrThrow(Syntax.parse("429x2,502")))
    assert.strictEqual(Result.getOrThrow(scripts("429x2,502")), first)
  })

  it("an invalid name is rejected every time, with the syntax's error", () => {
    const scripts = scriptCache()
    for (let n = 0; n < 2; n++) assert.deepStrictEqual(scripts("otage-2"), Syntax.parse("otage-2"))
  })

  it("any number of names is parsed correctly", () => {
    const scripts = scriptCache()
    for (let n = 0; n < 500; n++) {
      const { phases } = Result.getOrThrow(scripts(`429x${(n % 250) + 1}`))
      assert.strictEqual(phases[0]?.times, (n % 250) + 1)
    }
  })
})
