import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { actionsOf, type ResponseContext } from "../src/ResponseAction.ts"
import type { Script } from "../src/script/Script.ts"
import * as Arbitrary from "./ScriptArbitrary.ts"

const ends = new Set<string>(["Respond", "Reset", "Silence", "Fail", "Cut", "End", "Finish"])
const content = new Set<string>(["Reasoning", "Text", "ToolCall", "HalfToolCall", "Fail", "End", "Finish"])

const context = (script: Script): ResponseContext => ({
  delivery: { ...script.delivery, tokens: Math.min(script.delivery.tokens ?? 10, 50) },
  facts: { prompt: "Hello", failures: 0, elapsedMs: 0, afterTool: false },
  tools: [],
  inputTokens: () => 1
})

describe("ResponseAction", () => {
  it("every outcome ends once, and sends no content before its stream is open", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        for (const { outcome } of script.phases) {
          const tags = [...actionsOf(outcome, context(script))].map((action) => action._tag)
          assert.deepStrictEqual(
            tags.flatMap((tag, n) => (ends.has(tag) ? [n] : [])),
            [tags.length - 1]
          )
          const first = tags.findIndex((tag) => content.has(tag))
          assert.isTrue(first < 0 || tags.slice(0, first).includes("Open"), outcome._tag)
          assert.isTrue(tags.filter((tag) => tag === "Open").length <= 1)
        }
      })
    )
  })

  it("a break comes after its number of tokens at the latest", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        for (const { outcome } of script.phases) {
          const text = [...actionsOf(outcome, context(script))].filter((action) => action._tag === "Text").length
          if ("after" in outcome) assert.isTrue(text <= (outcome.after ?? 0))
        }
      })
    )
  })
})
