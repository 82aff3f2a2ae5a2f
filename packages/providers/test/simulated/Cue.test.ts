import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { play, type Stage } from "../../src/simulated/Cue.ts"
import type { Script } from "../../src/simulated/Script.ts"
import * as Arbitrary from "./arbitrary.ts"

const ends = new Set<string>(["Respond", "Reset", "Silence", "Fail", "Cut", "End", "Finish"])
const spoken = new Set<string>(["Reasoning", "Text", "ToolCall", "HalfToolCall", "Fail", "End", "Finish"])

const stage = (script: Script): Stage => ({
  delivery: { ...script.delivery, tokens: Math.min(script.delivery.tokens ?? 10, 50) },
  occasion: { prompt: "Hello", failures: 0, elapsedMs: 0, afterTool: false },
  tools: [],
  inputTokens: () => 1
})

describe("Cue", () => {
  it("every act ends once, and says nothing before its stream is open", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        for (const { act } of script.scenes) {
          const tags = [...play(act, stage(script))].map((cue) => cue._tag)
          assert.deepStrictEqual(
            tags.flatMap((tag, n) => (ends.has(tag) ? [n] : [])),
            [tags.length - 1]
          )
          const first = tags.findIndex((tag) => spoken.has(tag))
          assert.isTrue(first < 0 || tags.slice(0, first).includes("Open"), act._tag)
          assert.isTrue(tags.filter((tag) => tag === "Open").length <= 1)
        }
      })
    )
  })

  it("no more text is said before a break than it says", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        for (const { act } of script.scenes) {
          const text = [...play(act, stage(script))].filter((cue) => cue._tag === "Text").length
          if ("after" in act) assert.isTrue(text <= (act.after ?? 0))
        }
      })
    )
  })
})
