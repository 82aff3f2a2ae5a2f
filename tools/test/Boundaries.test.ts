import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import * as Boundaries from "../src/Boundaries.ts"

const root = new URL("../../", import.meta.url).pathname

const inKernel = (text: string) => Boundaries.violations({ path: "packages/kernel/src/turn/Turn.ts", text })

describe("the boundaries", () => {
  it("rule D10: hold in every source of this repository", () => {
    const paths = globSync("{packages,apps}/*/src/**/*.ts", { cwd: root })
    assert.isAbove(paths.length, 20)
    const found = paths.flatMap((path) => Boundaries.violations({ path, text: readFileSync(root + path, "utf8") }))
    assert.deepStrictEqual(found, [])
  })

  it.each([
    ['import { setTimeout } from "node:timers/promises"', "may not import node:timers/promises"],
    ['import * as Policy from "@holdfast/policy"', "may not import @holdfast/policy"],
    ['const lazy = () => import("undici")', "may not import undici"],
    ["const now = Date.now()", "a clock of its own"],
    ["const today = new Date()", "a clock of its own"],
    ["setTimeout(() => {}, 1)", "a timer"],
    ["const spread = Math.random()", "randomness of its own"],
    ["const home = process.env.HOME", "the platform"],
    ['import { HttpClient } from "effect/http"', "may not import effect/http"],
    ['import * as Backoff from "../../../policy/src/Backoff.ts"', "may not import ../../../policy/src/Backoff.ts"],
    ["const run = Effect.runFork(turn)", "an effect that it runs itself"],
    ["const answer = Effect.promise(() => call())", "a promise"],
    ["const answer = async () => await call()", "a promise"]
  ])("rule D10: are crossed by %s", (text, complaint) => {
    assert.include(inKernel(text).join(), complaint)
  })

  it.each([
    ["base/text/Prose.ts", 'import * as Turn from "../../engine/turn/TurnPlan.ts"'],
    ["storage/Store.ts", 'import type { Turn } from "../engine/turn/TurnPlan.ts"'],
    ["cli/Run.ts", 'export { program } from "../Program.ts"']
  ])("are crossed by an import of a higher room: %s, %s", (path, text) => {
    const source = { path: `apps/session-orchestrator/src/${path}`, text }
    assert.include(Boundaries.violations(source).join(), "which is in a higher room")
  })

  it.each([
    ["engine/turn/TurnPlan.ts", 'import * as Prose from "../../base/text/Prose.ts"'],
    ["http/HttpServer.ts", 'import { body } from "./body/Encoding.ts"'],
    ["storage/tables/later/Rows.ts", 'import { Store } from "../TurnTable.ts"'],
    ["Composition.ts", 'import * as Cli from "./cli/Cli.ts"']
  ])("are not crossed by an import of a lower room: %s, %s", (path, text) => {
    assert.deepStrictEqual(Boundaries.violations({ path: `apps/session-orchestrator/src/${path}`, text }), [])
  })

  it("are crossed by a circle of files, however long, and by none that only meets again", () => {
    const files = (imports: Readonly<Record<string, ReadonlyArray<string>>>) =>
      Object.entries(imports).map(([name, targets]) => ({
        path: `packages/wire/src/${name}.ts`,
        text: targets.map((target) => `import type { A } from "./${target}.ts"`).join("\n")
      }))
    const ring = Boundaries.circles(files({ A: ["B"], B: ["C", "D"], C: ["A"], D: [] }))
    assert.deepStrictEqual(
      ring.map((paths) => paths.map((path) => path.at(-4)).toSorted()),
      [["A", "B", "C"]]
    )
    assert.isEmpty(Boundaries.circles(files({ A: ["B", "C"], B: ["D"], C: ["D"], D: [] })))
  })

  it("leave each package and each room above all that it imports", () => {
    const service = "apps/session-orchestrator/src"
    const sources = [
      { path: "packages/wire/src/Ids.ts", text: "" },
      { path: "packages/kernel/src/Turn.ts", text: 'import { Ids } from "@holdfast/wire"' },
      { path: `${service}/base/text/Prose.ts`, text: 'import { Ids } from "@holdfast/wire"' },
      { path: `${service}/http/body/Body.ts`, text: 'import * as Prose from "../../base/text/Prose.ts"' },
      {
        path: `${service}/Composition.ts`,
        text: 'import "./http/body/Body.ts"\nimport { Turn } from "@holdfast/kernel"'
      }
    ]
    assert.deepStrictEqual(Boundaries.floors(sources), [
      ["wire"],
      ["kernel", "service/base"],
      ["service/http"],
      ["service/."]
    ])
  })

  it("are not crossed by a comment, a message or an import of one's own", () => {
    const text = `// setTimeout is not for us\n/* nor Date.now() */\nimport * as X from "./X.ts"\nimport { Effect } from "effect"\nconst said = "process.exit and Math.random"`
    assert.deepStrictEqual(inKernel(text), [])
  })
})
