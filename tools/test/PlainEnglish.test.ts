import { assert, describe, it } from "@effect/vitest"
import * as PlainEnglish from "../src/PlainEnglish.ts"

const rateOf = (text: string) => PlainEnglish.rateOf(PlainEnglish.countOf(text))

describe("the count", () => {
  it.each([
    ["Whoever waits is woken.", { whoever: 1 }],
    ["Those who wait, and those\nwho do not.", { "those who": 2 }],
    ["One that fails, and the ones that follow.", { "one that": 2 }],
    ["Nobody, somebody, anybody.", { nobody: 1, somebody: 1, anybody: 1 }],
    ["It tells, told, and is telling.", { tell: 3 }],
    ["It hears what was heard.", { hear: 2 }],
    ["It says what was said.", { say: 2 }],
    ["A retailer essays hearty sayings.", {}]
  ])("of %j", (text, hits) => {
    assert.deepStrictEqual(PlainEnglish.countOf(text).hits, hits)
  })

  it("has the words of prose alone: a hyphen joins, a dash does not", () => {
    assert.strictEqual(PlainEnglish.countOf("A well-kept list – it's 3 lines. →").words, 6)
  })
})

describe("prose", () => {
  it("of a source is its comments, without code in them and without directives", () => {
    const text = [
      "/**",
      " * Runs a turn.",
      " *",
      " * ```ts",
      " * const told = whoever",
      " * ```",
      " */",
      'const nobody = "says" // waits for `told`',
      "// #region says"
    ].join("\n")
    assert.deepStrictEqual(PlainEnglish.countOf(PlainEnglish.proseOfSource("Turn.ts", text)), { words: 5, hits: {} })
  })

  it("of a page is its text, without code and addresses", () => {
    const text =
      "A [page](https://nobody.example/says) of `told`.\n\n```sh\nsay whoever\n```\n\n<!-- told -->\nEnd: https://say.example\n"
    assert.deepStrictEqual(PlainEnglish.countOf(PlainEnglish.proseOfPage(text)), { words: 4, hits: {} })
  })
})

describe("the rate", () => {
  it("is per 1,000 words, rounded up to a tenth", () => {
    assert.strictEqual(PlainEnglish.rateOf({ words: 3_000, hits: { say: 1, tell: 3 } }), 1.4)
    assert.strictEqual(PlainEnglish.rateOf(PlainEnglish.none), 0)
    assert.strictEqual(rateOf("told"), 1_000)
  })
})

describe("the record", () => {
  const counts = new Map([
    ["kites", { words: 1_000, hits: { say: 2 } }],
    ["ropes", { words: 1_000, hits: { tell: 4, say: 1 } }]
  ])

  it("allows a figure that has not risen", () => {
    assert.deepStrictEqual(PlainEnglish.problems(counts, { kites: 2, ropes: 5.1 }), [])
  })

  it("refuses a figure that has risen, by its words", () => {
    assert.deepStrictEqual(PlainEnglish.problems(counts, { kites: 2, ropes: 4.9 }), [
      "ropes: 5.0 per 1,000 of 1000 words (tell 4, say 1), and the record allows 4.9. Name the subject and use a plain verb."
    ])
  })

  it("allows a new part no idiom, and refuses a part that does not exist", () => {
    const problems = PlainEnglish.problems(counts, { kites: 2, birds: 1 })
    assert.lengthOf(problems, 2)
    assert.include(problems[0], "ropes: 5.0 per 1,000")
    assert.include(problems[1], "birds is recorded and does not exist")
  })

  it("falls and never rises", () => {
    assert.deepStrictEqual(PlainEnglish.lowered(counts, { kites: 1, ropes: 9, birds: 1 }), { kites: 1, ropes: 5 })
  })
})
