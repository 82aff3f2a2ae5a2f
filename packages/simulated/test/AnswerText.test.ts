import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as AnswerText from "../src/AnswerText.ts"

const facts: AnswerText.AnswerFacts = { prompt: "Hello", failures: 0, elapsedMs: 0, afterTool: false }
const textOf = (about: Partial<AnswerText.AnswerFacts>) => AnswerText.answer({ ...facts, ...about }).join("")

describe("AnswerText", () => {
  it("an answer states what happened, and the time where it was at least a second", () => {
    assert.match(textOf({}), /^Nothing failed this time\. You wrote: “Hello”\./)
    assert.match(textOf({ failures: 1, elapsedMs: 999 }), /^You have just seen a turn outlive a failure\. /)
    assert.match(textOf({ failures: 9, elapsedMs: 5_415_000 }), /outlive 9 failures in 1 h 30 min 15 s\. /)
    assert.include(textOf({ afterTool: true }), "The tool has answered. ")
  })

  it("a long prompt is repeated in a short form, not cut inside a character", () => {
    assert.include(textOf({ prompt: "🦀".repeat(500) }), `“${"🦀".repeat(120)}…”`)
    assert.include(textOf({ prompt: " a\n\n b " }), "“a b”")
    assert.include(textOf({ prompt: "" }), "You wrote nothing else.")
  })

  it("the last directive of a prompt applies, and none is part of its text", () => {
    assert.deepStrictEqual(AnswerText.readPrompt("a\n simulate: 429 \nb\r\nsimulate: 502\r\nc"), {
      directive: "502",
      text: "a\nb\r\nc"
    })
    assert.deepStrictEqual(AnswerText.readPrompt("please simulate: 429"), {
      directive: undefined,
      text: "please simulate: 429"
    })
  })

  it("an answer has the requested number of tokens", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2_000 }), (count) => {
        const tokens = AnswerText.answer(facts, count)
        assert.strictEqual(tokens.length, count)
        assert.strictEqual(AnswerText.tokens(tokens.join("")).length, count)
      })
    )
  })
})
