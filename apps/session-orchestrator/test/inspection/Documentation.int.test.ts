/** Checks that docs/explain.md shows real output and every rule in it. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as LongTurn from "./LongTurn.ts"

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8")

const page = read("docs/explain.md")
const source = ["Explanation", "DecisionAccount", "Words"]
  .map((name) => read(`apps/session-orchestrator/src/inspection/${name}.ts`).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, ""))
  .join("")

describe("docs/explain.md", () => {
  it("rule X9: shows the night of the test turn", () => {
    assert.include(page, `\`\`\`text\n${LongTurn.text.join("\n")}\n\`\`\``)
  })

  it("has a row for every rule that an explanation names, and for no other", () => {
    const named = new Set(Array.from(source.matchAll(/["(]([A-Z]\d+)[")]/g), ([, rule]) => rule))
    const rows = Array.from(page.matchAll(/^\| `([A-Z]\d+)` \|/gm), ([, rule]) => rule)
    assert.deepStrictEqual(rows.toSorted(), Array.from(named).toSorted())
  })
})
