import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Conversation from "../../src/simulated/Conversation.ts"

const occasion: Conversation.Occasion = { prompt: "Hello", failures: 0, elapsedMs: 0, afterTool: false }
const said = (about: Partial<Conversation.Occasion>) => Conversation.answer({ ...occasion, ...about }).join("")

describe("Conversation", () => {
  it("an answer says what happened, and how long it took where that could be felt", () => {
    assert.match(said({}), /^Nothing failed this time\. You wrote: “Hello”\./)
    assert.match(said({ failures: 1, elapsedMs: 999 }), /^You have just seen a turn outlive a failure\. /)
    assert.match(said({ failures: 9, elapsedMs: 5_415_000 }), /outlive 9 failures in 1 h 30 min 15 s\. /)
    assert.include(said({ afterTool: true }), "The tool has answered. ")
  })

  it("a long prompt is repeated in a short form, which cuts no character in two", () => {
    assert.include(said({ prompt: "🦀".repeat(500) }), `“${"🦀".repeat(120)}…”`)
    assert.include(said({ prompt: " a\n\n b " }), "“a b”")
    assert.include(said({ prompt: "" }), "You wrote nothing else.")
  })

  it("the last directive of a prompt counts, and none is part of its text", () => {
    assert.deepStrictEqual(Conversation.readPrompt("a\n simulate: 429 \nb\r\nsimulate: 502\r\nc"), {
      directive: "502",
      text: "a\nb\r\nc"
    })
    assert.deepStrictEqual(Conversation.readPrompt("please simulate: 429"), {
      directive: undefined,
      text: "please simulate: 429"
    })
  })

  it("an answer has as many tokens as it is asked for", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), (count) => {
        const tokens = Conversation.answer(occasion, count)
        assert.strictEqual(tokens.length, count)
        assert.strictEqual(Conversation.tokens(tokens.join("")).length, count)
      })
    )
  })
})
