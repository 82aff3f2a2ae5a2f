import { stripTypeScriptTypes } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { parseSync } from "oxc-parser"
import * as Coverage from "../src/mutation/Coverage.ts"
import { GLOBAL, instrument } from "../src/mutation/Instrument.ts"
import * as Places from "../src/mutation/Places.ts"
import * as MutationReport from "../src/mutation/MutationReport.ts"
import * as Sample from "../src/mutation/Sample.ts"

const path = "packages/kites/src/Kite.ts"

const placesOf = (text: string) => Places.of({ path, text }).places

const changesOf = (text: string) => placesOf(text).map(({ after, before, operator }) => [operator, before, after])

/** A program with a place for every operator, which reports its steps. */
const kite = `
import type { Wind } from "./Wind.ts"
type Height = 1 | 2
export const calls: Array<string> = []
export function* fly(height: number, wind: Wind | undefined) {
  if (height < 2 || (wind === undefined && height !== 5)) return yield* land(1)
  for (let n = 0; n < height; n++) {
    if (n === 3) continue
    calls.push(n > 1 ? "up" : "down")
  }
  yield* land(2 as const)
  return height
}
export const smaller = (a: number, b: number) => (a < b ? a : b)
function* land(n: number) {
  calls.push(\`land \${n}\`)
  return -n
}
`

describe("mutation operators", () => {
  it.each<[text: string, changes: ReadonlyArray<readonly [string, string, string]>]>([
    [
      "x = a < b",
      [
        ["dropped", "x = a < b", ";"],
        ["comparison", "a < b", "(a >= b)"],
        ["boundary", "a < b", "(a <= b)"]
      ]
    ],
    [
      "if (a === b) stop()",
      [
        ["comparison", "a === b", "(a !== b)"],
        ["dropped", "stop()", ";"]
      ]
    ],
    ["const x = a ? b : c", [["branch", "a", "!(a)"]]],
    [
      "const x = (a || b) && c",
      [
        ["branch", "(a || b) && c", "((a || b) || c)"],
        ["branch", "a || b", "(a && b)"]
      ]
    ],
    [
      "const x = a || b || c",
      [
        ["branch", "a || b || c", "((a || b) && c)"],
        ["branch", "a || b", "(a && b)"]
      ]
    ],
    ["const x = a ?? b", []],
    [
      "const x = [true, 0, 1.5, 2n, 999, 1_000, 'text']",
      [
        ["constant", "true", "false"],
        ["constant", "0", "1"],
        ["constant", "1.5", "2.5"],
        ["constant", "2n", "3n"],
        ["constant", "999", "1000"],
        ["constant", "1_000", "2000"]
      ]
    ],
    ["function* f() { yield* g() }", [["dropped", "yield* g()", ";"]]],
    ["function* f() { const x = yield* g() }", []],
    ["function* f() { return yield* g() }", [["dropped", "yield* g()", "undefined"]]],
    ["function f() { throw g() }", [["dropped", "throw g()", ";"]]]
  ])("change %s", (text, changes) => {
    assert.deepStrictEqual<unknown>(changesOf(text), changes)
  })

  it.each([
    "type A = 1 | true",
    "interface A { readonly a: 5 }",
    "const x: Array<1> = y as unknown as 2",
    "const x = { 1: y, m() {} }",
    'import { a } from "b"'
  ])("leave alone what exists for the compiler, or is a name: %s", (text) => {
    assert.deepStrictEqual(changesOf(text), [])
  })

  it("make programs that parse, each another one, and name the line", () => {
    const places = placesOf(kite)
    const programs = places.map((place) => Places.mutate(kite, place))
    for (const program of programs) assert.deepStrictEqual(parseSync("Kite.ts", program).errors, [])
    assert.strictEqual(new Set([kite, ...programs]).size, places.length + 1)
    for (const { line, start } of places) assert.include(kite.split("\n")[line - 1], kite.slice(start).split("\n")[0])
  })
})

describe("equivalent changes", () => {
  it.each([
    ["const x = a < b ? a : b", "boundary"],
    ["const x = a >= b ? b : a", "boundary"],
    ["x satisfies never", "dropped"],
    ["switch (a) { case b: f(); break }", "dropped"],
    ["switch (a) { case b: f(); break; default: }", "dropped"],
    ["for (;;) { f(); continue }", "dropped"],
    ["function f() { g(); return }", "dropped"],
    ["const x = f({ discard: true })", "constant"],
    ["const x: Readonly<Record<Name, true>> = { a: true }", "constant"]
  ])("are passed over in %s, with the reason", (text, operator) => {
    const { passedOver } = Places.of({ path, text })
    assert.deepStrictEqual(
      passedOver.map((place) => place.operator),
      [operator]
    )
    for (const { reason } of passedOver) assert.isNotEmpty(reason)
  })

  it.each([
    "const x = a < b ? a : c",
    "switch (a) { case b: f(); break; case c: g() }",
    "for (;;) { if (a) continue; f() }",
    "function f() { if (a) return; g() }",
    "const x: Record<Name, boolean> = { a: true }",
    "const x = { a: true }"
  ])("are not seen in %s", (text) => {
    assert.deepStrictEqual(Places.of({ path, text }).passedOver, [])
  })
})

describe("a sample", () => {
  const many = placesOf(Array.from({ length: 40 }, (_, n) => `if (a${n % 7} < ${n}) f(${n})`).join("\n"))

  it("is the same for the same seed, and another for another", () => {
    assert.deepStrictEqual(Sample.draw(many, 20, "1"), Sample.draw(many, 20, "1"))
    assert.notDeepEqual(Sample.draw(many, 20, "1"), Sample.draw(many, 20, "2"))
  })

  it("has no place twice, and contains every smaller one", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), fc.string(), (a, b, seed) => {
        const [smaller, larger] = [Math.min(a, b), Math.max(a, b)].map((count) => Sample.draw(many, count, seed))
        assert.strictEqual(new Set(larger).size, Math.min(Math.max(a, b), many.length))
        assert.deepStrictEqual(larger?.slice(0, smaller?.length), smaller)
      })
    )
  })

  it("keeps the places of code that an edit elsewhere has not touched", () => {
    const text = "if (a < 1) f()\nif (b < 2) g()"
    const rankOf = (text: string) => Sample.draw(placesOf(text), 100, "7").map(({ after, before }) => [before, after])
    const edited = rankOf(`const added = c === 3\n${text}`)
    assert.deepStrictEqual(
      edited.filter(([before]) => before !== "c === 3" && before !== "3"),
      rankOf(text)
    )
  })
})

describe("counted points", () => {
  const places = placesOf(kite)

  const fly = async (text: string, height: number) => {
    Reflect.deleteProperty(globalThis, GLOBAL)
    const code = encodeURIComponent(`${stripTypeScriptTypes(text)}// ${height}`)
    const module = await import(`data:text/javascript,${code}`)
    const result = [...module.fly(height, undefined)]
    const points: { readonly [path: string]: ReadonlySet<string> } = Reflect.get(globalThis, GLOBAL) ?? {}
    return { said: [result, module.calls, module.smaller(2, 1)], points: points[path] ?? new Set<string>() }
  }

  const reachedBy = (points: ReadonlySet<string>) => {
    const test = { project: "unit", path: "packages/kites/test/Kite.test.ts" }
    const measured = {
      test,
      failure: undefined,
      durationMs: 1,
      modules: [],
      isProgram: false,
      hashes: {},
      points: { [path]: [...points] }
    }
    return places.filter((place) => Coverage.reaching([measured], place, kite).length > 0).map(({ before }) => before)
  }

  it("leave the program as it was, and show what was evaluated", async () => {
    const counting = instrument({ path, text: kite }, places)
    const [high, low] = [await fly(counting, 5), await fly(counting, 4)]
    assert.deepStrictEqual(high.said, (await fly(kite, 5)).said)
    assert.deepStrictEqual(low.said, (await fly(kite, 4)).said)
    const [byHigh, byLow] = [reachedBy(high.points), reachedBy(low.points)]
    assert.includeMembers(byHigh, [
      "height < 2",
      "height !== 5",
      "n < height",
      "continue",
      "yield* land(2 as const)",
      "a < b"
    ])
    assert.notIncludeMembers(byHigh, ["yield* land(1)"])
    assert.includeMembers(byLow, ["height < 2", "height !== 5", "yield* land(1)", "a < b"])
    assert.notIncludeMembers(byLow, ["n < height", "continue"])
  })
})

describe("the report", () => {
  const [place] = placesOf("if (a < 1) f()")
  if (place === undefined) throw new Error("There is no place.")
  const results: ReadonlyArray<MutationReport.Result> = [
    { place, outcome: { type: "noticed", by: { test: "packages/kites/test/Kite.test.ts", title: "flies" } } },
    { place, outcome: { type: "late" } },
    { place, outcome: { type: "survived", tests: ["packages/kites/test/Kite.test.ts"] } },
    { place, outcome: { type: "survived", tests: [] } }
  ]

  it("counts a change that survives the tests of the package and not a test that starts the program as noticed", () => {
    const [noticed, , survivor, alone] = results
    assert(noticed !== undefined && survivor !== undefined && alone !== undefined)
    assert.strictEqual(MutationReport.both(survivor, noticed).outcome, noticed.outcome)
    assert.deepStrictEqual(MutationReport.both(alone, survivor), survivor)
  })

  it("counts a change that never ends as noticed", () => {
    assert.strictEqual(MutationReport.percent(results), 50)
  })

  it("shows each survivor with its place, its change and the tests that passed", () => {
    const text = MutationReport.summary(results, { package: "kites", seed: "7", places: 9, passedOver: 3 })
    assert.include(text, `${path}:1 comparison\n  - a < 1\n  + (a >= 1)\n  passed: Kite.test.ts`)
    assert.include(text, "no test reaches it")
    assert.include(text, "kites: 2 of 4 noticed (50.0 %), 1 of them by the time limit; seed 7")
  })
})
