import { assert, describe, it } from "@effect/vitest"
import * as AvoidedNames from "../src/AvoidedNames.ts"

const page = [
  "| Term | Means | Where | Avoid |",
  "|---|---|---|---|",
  "| **kite** | Flies on a `rope`. | `kites/Kite` | `dragon`, plane, `box kite` |",
  "",
  "| Term | Where |",
  "|---|---|",
  "| **wind** | `gust` |"
].join("\n")

describe("the glossary", () => {
  it("avoids the words in code style of its column", () => {
    assert.deepStrictEqual(AvoidedNames.avoidedIn(page), [
      { word: "dragon", term: "kite" },
      { word: "box kite", term: "kite" }
    ])
  })
})

describe("a name", () => {
  const avoided = AvoidedNames.avoidedIn(page)

  it.each(["Dragon", "redDragon", "DRAGON_COUNT", "dragonsOf", "HTTPDragon", "BoxKite"])("is avoided: %s", (name) => {
    assert.strictEqual(AvoidedNames.avoidedBy(name, avoided)?.term, "kite")
  })

  it.each(["Dragonfly", "Kite", "planeOf", "boxOfKites"])("is not avoided: %s", (name) => {
    assert.strictEqual(AvoidedNames.avoidedBy(name, avoided), undefined)
  })

  it("is counted by its exports", () => {
    const counts = AvoidedNames.countsOf(["Dragon", "Kite", "Dragon"], avoided)
    assert.deepStrictEqual(
      Array.from(counts, ([name, { by, count }]) => [name, count, by.word]),
      [["Dragon", 2, "dragon"]]
    )
  })
})
