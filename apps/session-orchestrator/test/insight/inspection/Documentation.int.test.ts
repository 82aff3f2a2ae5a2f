/** Checks that docs/explain.md shows real output, and that the rule book has every rule in it. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as LongTurn from "./LongTurn.ts"

const read = (path: string): string => readFileSync(new URL(`../../../../../${path}`, import.meta.url), "utf8")

const page = read("docs/explain.md")
const source = ["Explanation", "DecisionAccount", "Words"]
  .map((name) =>
    read(`apps/session-orchestrator/src/insight/inspection/${name}.ts`).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")
  )
  .join("")

describe("docs/explain.md", () => {
  it("rule X9: shows the night of the test turn", () => {
    const shown = (/```text\n([^]*?)\n```/.exec(page)?.[1] ?? "").split("\n  …\n")
    const text = LongTurn.text.join("\n")
    assert.isTrue(text.startsWith(shown[0] ?? "?") && text.endsWith(shown.at(-1) ?? "?"))
    // The parts stand in the text in their order.
    shown.reduce((from, part) => {
      const at = text.indexOf(part, from)
      assert.isAtLeast(at, from, part)
      return at + part.length
    }, 0)
  })

  it("links to the rules, which have each that an explanation names", () => {
    const named = Array.from(source.matchAll(/["(]([A-Z]\d+)[")]/g), ([, rule]) => rule)
    const rules = new Set(Array.from(read("tools/src/RuleBook.ts").matchAll(/\bid: "([A-Z]\d+)"/g), ([, rule]) => rule))
    assert.include(page, "[rules](../tools/src/RuleBook.ts)")
    assert.isAbove(named.length, 20)
    const unknown = named.filter((rule) => !rules.has(rule))
    assert.deepStrictEqual(unknown, [])
  })
})
