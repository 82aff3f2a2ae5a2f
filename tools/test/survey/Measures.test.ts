import { assert, describe, it } from "@effect/vitest"
import { exportsOf, importsOf } from "../../src/survey/Exports.ts"
import { castsOf, functionsOf } from "../../src/survey/Functions.ts"
import * as Measures from "../../src/survey/Measures.ts"
import { codeLines, parse } from "../../src/survey/Source.ts"

const kite = (text: string) => parse({ path: "packages/kites/src/Kite.ts", text })

describe("exports", () => {
  const of = (text: string) => exportsOf(kite(text)).map(({ isDocumented, kind, name }) => [name, kind, isDocumented])

  it.each([
    ["/** Flies. */\nexport const fly = 1", [["fly", "value", true]]],
    ["// Flies.\nexport const fly = 1", [["fly", "value", false]]],
    ["/* Flies. */\nexport const fly = 1", [["fly", "value", false]]],
    ["/** Flies. */\n// #region fly\nexport const fly = 1", [["fly", "value", true]]],
    ['/** Header. */\nimport * as Wind from "./Wind.ts"\nexport const fly = Wind', [["fly", "value", false]]],
    ["/** Flies. */\nconst fly = 1\nexport { fly }", [["fly", "value", true]]],
    [
      "export class Kite {}\nexport interface Wind {}\nexport function fly() {}",
      [
        ["Kite", "type", false],
        ["Wind", "type", false],
        ["fly", "value", false]
      ]
    ]
  ])("of %j", (text, found) => {
    assert.deepStrictEqual(of(text), found)
  })

  it("of one name are one, and one doc comment is enough", () => {
    const text = "/** A kite. */\nexport const Kite = 1\nexport type Kite = typeof Kite"
    assert.deepStrictEqual(of(text), [["Kite", "type", true]])
    assert.deepStrictEqual(of(text.replace("export const", "const")), [["Kite", "type", true]])
  })

  it("leave out local declarations and re-exports", () => {
    const text = 'const rope = 1\nexport * as Wind from "./Wind.ts"\nexport { gust } from "./Wind.ts"'
    assert.deepStrictEqual(of(text), [])
    assert.deepStrictEqual(importsOf(kite(text)), [
      { from: "./Wind.ts", line: 2 },
      { from: "./Wind.ts", line: 3 }
    ])
  })
})

describe("functions", () => {
  it("have a name and a length", () => {
    const text = "const fly = () => {\n  return 1\n}\nconst kite = {\n  land() {\n    return 2\n  }\n}"
    assert.deepStrictEqual(
      functionsOf(kite(text)).map(({ line, lines, name }) => [name, line, lines]),
      [
        ["fly", 1, 3],
        ["land", 5, 3]
      ]
    )
  })

  it("that begin where another one begins are one with it", () => {
    const text = "const fly = () =>\n  gen(function* () {\n    yield* wind\n    const later = () =>\n      1\n  })"
    assert.deepStrictEqual(
      functionsOf(kite(text)).map(({ lines, name }) => [name, lines]),
      [
        ["fly", 6],
        ["later", 2]
      ]
    )
  })
})

describe("casts", () => {
  it("are as, any and !, and not as const or satisfies", () => {
    const text = "a as B\nlet c: any\nd!\ne as const\nf satisfies G"
    assert.deepStrictEqual(
      castsOf(kite(text)).map(({ kind, line }) => [kind, line]),
      [
        ["as", 1],
        ["any", 2],
        ["!", 3]
      ]
    )
  })
})

describe("lines", () => {
  it("of code are neither blank nor a comment alone", () => {
    assert.strictEqual(
      codeLines(kite("/**\n * A kite.\n */\n\nconst kite = 1 // flies\n// lands\nconst rope = 2\n")),
      2
    )
  })
})

describe("names", () => {
  it("of files occur twice in two folders; entry points do not count", () => {
    assert.deepStrictEqual(
      Measures.sameFileNames(["a/Kite.ts", "b/Kite.ts", "a/index.ts", "b/index.ts", "a/Wind.ts"]),
      ["Kite.ts: a/Kite.ts, b/Kite.ts"]
    )
  })

  it("of types occur twice in two files; those of values, and re-exports, do not count", () => {
    const at = (path: string, text: string) => exportsOf(parse({ path, text }))
    const exports = [
      ...at("a.ts", "export type Kite = 1; export const make = 1"),
      ...at("b.ts", "export interface Kite {}; export const make = 2"),
      ...at("c.ts", "export type Kite = Kites.Kite"),
      ...at("d.ts", "export type Kite = Light<Kites.Kite>")
    ]
    assert.deepStrictEqual(Measures.homonyms(exports), ["Kite: a.ts, b.ts, d.ts"])
  })

  it("of folders with more files than a room has", () => {
    const files = (folder: string, count: number) => Array.from({ length: count }, (_, at) => `${folder}/${at}.ts`)
    const paths = [...files("kites", Measures.MOST_FILES), ...files("ropes", Measures.MOST_FILES + 1)]
    assert.deepStrictEqual(Measures.crowdedFolders(paths), ["ropes: 17 files"])
  })
})

describe("the table", () => {
  const tree = (text: string): Measures.Tree => ({
    sources: [Measures.readingOf({ path: "packages/kites/src/Kite.ts", text })],
    english: { words: 1_000, hits: { say: 2 } }
  })
  const columns = [
    { title: "before", measures: Measures.measuresOf(tree("export const fly = (kite as Kite)")) },
    { title: "after", measures: Measures.measuresOf(tree("/** Flies. */\nexport const fly = kite\n")) }
  ]

  it("has a line a measure and a column a tree", () => {
    const lines = Measures.tableOf(columns).split("\n")
    assert.match(lines[0] ?? "", /^ +before +after$/)
    const valuesOf = (name: string) =>
      lines
        .find((line) => line.startsWith(name))
        ?.slice(name.length)
        .trim()
        .split(/ {2,}/)
    assert.deepStrictEqual(valuesOf("casts: as, any, !"), ["1", "0"])
    assert.deepStrictEqual(valuesOf("exports without a doc comment: kites"), ["1 of 1", "0 of 1"])
    assert.deepStrictEqual(valuesOf("idioms per 1,000 words"), ["2.0", "2.0"])
  })

  it("has a dash for a package that a tree does not have", () => {
    const [before] = columns
    const without = { title: "empty", measures: Measures.measuresOf({ sources: [], english: { words: 0, hits: {} } }) }
    assert.match(Measures.tableOf([...(before === undefined ? [] : [before]), without]), /kites +1 of 1 +-$/m)
  })
})
