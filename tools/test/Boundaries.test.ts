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
    ["text/Prose.ts", 'import * as Turn from "../turn/TurnPlan.ts"'],
    ["storage/Store.ts", 'import type { Turn } from "../turn/TurnPlan.ts"'],
    ["cli/Run.ts", 'export { program } from "../Program.ts"']
  ])("are crossed by an import of a higher room: %s, %s", (path, text) => {
    const source = { path: `apps/session-orchestrator/src/${path}`, text }
    assert.include(Boundaries.violations(source).join(), "which is in a higher room")
  })

  it.each([
    ["turn/TurnPlan.ts", 'import * as Prose from "../text/Prose.ts"'],
    ["http/HttpServer.ts", 'import { body } from "./body/Encoding.ts"'],
    ["storage/tables/later/Rows.ts", 'import { Store } from "../TurnTable.ts"'],
    ["Composition.ts", 'import * as Cli from "./cli/Cli.ts"']
  ])("are not crossed by an import of a lower room: %s, %s", (path, text) => {
    assert.deepStrictEqual(Boundaries.violations({ path: `apps/session-orchestrator/src/${path}`, text }), [])
  })

  it("had another order of rooms in older commits", () => {
    const source = { path: "apps/session-orchestrator/src/transport/http/Access.ts", text: "" }
    assert.strictEqual(Boundaries.orderOf([source]), Boundaries.formerRooms)
    assert.strictEqual(
      Boundaries.orderOf([{ ...source, path: "apps/session-orchestrator/src/http/Access.ts" }]),
      Boundaries.rooms
    )
  })

  it("are not crossed by a comment, a message or an import of one's own", () => {
    const text = `// setTimeout is not for us\n/* nor Date.now() */\nimport * as X from "./X.ts"\nimport { Effect } from "effect"\nconst said = "process.exit and Math.random"`
    assert.deepStrictEqual(inKernel(text), [])
  })
})
