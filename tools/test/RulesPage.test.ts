import { assert, describe, it } from "@effect/vitest"
import * as RulesPage from "../src/RulesPage.ts"

const chapters = [
  {
    title: "K. Kites",
    rules: [
      { id: "K1", says: "A kite flies." },
      { id: "K2", says: "It comes down.", claimed: false }
    ]
  }
] as const

const titlesOf = (text: string) => RulesPage.titlesOf({ path: "tools/test/Kites.test.ts", text })

describe("titles", () => {
  it.each([
    ['it("rule K1: flies", () => {})', "flies"],
    ['it.live.each(table)("rule K1: flies %s far, %j", () => {})', "flies … far, …"],
    ["it.effect(`rule K1: flies ${n} m`, () => {})", "flies … m"],
    ['bothWays(\n  "rule K1: says \\"up\\"",\n  (start) => {})', 'says "up"'],
    ['const kites = [{ title: "rule K1: flies" }]', "flies"],
    ["const kites = [{ title: `rule K1: it's ${high}` }]", "it's …"]
  ])("are found in %s", (text, title) => {
    assert.deepStrictEqual(
      titlesOf(text).map(({ ids, text }) => [ids, text]),
      [[["K1"], title]]
    )
  })

  it("name several rules", () => {
    assert.deepStrictEqual(titlesOf('it("rule K1, K2: flies and comes down", () => {})')[0]?.ids, ["K1", "K2"])
  })

  it.each([
    'it.skip("rule K1: flies", () => {})',
    'it.todo("rule K1: flies")',
    'it("flies, as rule K1: says", () => {})',
    'assert.include(text, "rule K1: flies")',
    "// rule K1: flies",
    'it("K1: flies", () => {})'
  ])("are none in %s", (text) => {
    assert.deepStrictEqual(titlesOf(text), [])
  })
})

describe("what is wrong", () => {
  const problemsIn = (text: string) => RulesPage.problems(chapters, titlesOf(text))

  it("is a claimed rule without a test", () => {
    assert.deepStrictEqual(problemsIn(""), ["K1 is claimed, and no test names it."])
  })

  it("is a title that names a rule there is not", () => {
    assert.deepStrictEqual(problemsIn('it("rule K1, K9: flies", () => {})'), [
      'tools/test/Kites.test.ts: "flies" names K9, and there is no such rule.'
    ])
  })

  it("is nothing where each claim has a test", () => {
    assert.deepStrictEqual(problemsIn('it("rule K1: flies", () => {})'), [])
  })
})

describe("the page", () => {
  it("has each rule with the files and titles that name it, once", () => {
    const titles = titlesOf('it("rule K1: flies <high>", () => {})\nit("rule K1: flies <high>", () => {})')
    assert.strictEqual(
      RulesPage.withTests(chapters, titles, []),
      "K1 A kite flies.\n  tools/test/Kites.test.ts\n    flies <high>\n\nK2 It comes down. Not claimed.\n"
    )
    assert.strictEqual(RulesPage.withTests(chapters, titles, ["K2"]), "K2 It comes down. Not claimed.\n")
  })

  it("tells the tests of a part from the proof of a claim", () => {
    const titles = titlesOf('it("rule K2: comes down", () => {})')
    assert.include(RulesPage.withTests(chapters, titles, []), "Not claimed; in part:")
  })
})
