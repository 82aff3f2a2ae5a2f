import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Tokenizer from "../../../src/base/tokens/Tokenizer.ts"
import * as Law from "../../Law.ts"

const languages: ReadonlyArray<readonly [name: string, text: string, tokens: number]> = [
  ["English", "The quick brown fox. ", 5],
  ["Chinese", "中文字符测试汉语言文学", 6],
  ["Thai", "ภาษาไทยเป็นภาษาที่มีระดับเสียง", 9],
  ["nothing but blanks", " ".repeat(64), 1]
]

describe("a count of tokens", () => {
  for (const [name, text, tokens] of languages) {
    it(`of a long text is the sum of its parts: ${name}`, () => {
      const times = Math.ceil(16_384 / text.length)
      assert.approximately(Tokenizer.count(text.repeat(times)) / times, tokens, tokens * 0.1 + 1)
    })
  }

  it("is made of pieces of bounded length, whose number grows with the text", () =>
    Law.holds([fc.string({ maxLength: 3_000, unit: fc.constantFrom("a", "b", " ", "文", "\u{1f600}") })], (text) => {
      const pieces: Array<string> = []
      Tokenizer.inPieces(text, (piece) => pieces.push(piece))
      assert.strictEqual(pieces.join(""), text)
      assert.isAtMost(Math.max(0, ...pieces.map(({ length }) => length)), Tokenizer.PIECE)
      // A short piece ends before the last blank of its reach, so that the two behind it reach further than one whole piece.
      assert.isAtMost(pieces.length, 2 * Math.ceil(text.length / Tokenizer.PIECE))
    }))

  it("is made of pieces that begin with a blank, except the first, and the rest is one piece", () => {
    const lengths = (text: string): ReadonlyArray<number> => {
      const pieces: Array<number> = []
      Tokenizer.inPieces(text, (piece) => pieces.push(piece.length))
      return pieces
    }
    const [a, b] = ["a", "b"].map((letter) => letter.repeat(Tokenizer.PIECE - 2))
    assert.deepStrictEqual([`${a} ${b}`, `${a} b`, `a ${a}`, ` ${a}bb`].map(lengths), [
      [126, 127],
      [128],
      [128],
      [128, 1]
    ])
    assert.deepStrictEqual(lengths(`a ${a}b`), [1, 128])
  })

  it("of a text that cannot be cut between words is the sum of its parts", () => {
    assert.deepStrictEqual([Tokenizer.count(""), Tokenizer.count("a".repeat(1_000))], [0, 125])
    assert.isAtLeast(Tokenizer.count("\u{1f600}".repeat(1_000)), 1_000)
  })
})
