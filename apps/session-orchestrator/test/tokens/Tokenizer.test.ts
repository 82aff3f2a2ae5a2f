import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Growth from "../Growth.ts"
import * as Tokenizer from "../../src/tokens/Tokenizer.ts"

const languages: ReadonlyArray<readonly [name: string, text: string, tokens: number]> = [
  ["English", "The quick brown fox. ", 5],
  ["Chinese", "中文字符测试汉语言文学", 6],
  ["Thai", "ภาษาไทยเป็นภาษาที่มีระดับเสียง", 9],
  ["nothing but blanks", " ".repeat(64), 1]
]

describe("a count of tokens", () => {
  for (const [name, text, tokens] of languages) {
    it.live(`of a long text is the sum of its parts, in a time that grows no faster than the text: ${name}`, () =>
      Effect.gen(function* () {
        const count = yield* Tokenizer.load
        count(text)
        const times = Math.ceil(65_536 / text.length)
        const counted = count(text.repeat(times))
        // As one piece, a text of a language without blanks takes 20 s and more, during which no turn runs.
        const grown = Growth.growth((size) => count(text.repeat(size)), Math.ceil(times / 8), 8)
        assert.isBelow(grown, 24)
        assert.approximately(counted / times, tokens, tokens * 0.1 + 1)
      })
    )
  }

  it.live("of a text that cannot be cut between words is the sum of its parts", () =>
    Effect.gen(function* () {
      const count = yield* Tokenizer.load
      assert.strictEqual(count(""), 0)
      assert.strictEqual(count("a".repeat(1_000)), 125)
      assert.isAtLeast(count("\u{1f600}".repeat(1_000)), 1_000)
    })
  )
})
