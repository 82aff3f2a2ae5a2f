import { assert, it } from "@effect/vitest"
import * as Size from "../src/Size.ts"

it("counts code lines, files, numbered invariants and services by package", () => {
  const one = `/**
 * Owns one thing.
 *
 * Kite.K1. It flies,
 *     as long as Kite.K2. holds.
 * Kite.K12. It lands.
 */
import { Context } from "effect"

// Alone.
export class Kite extends Context.Service<Kite, object>()("kites/Kite") {} // K1
`
  const sources = [
    { path: "packages/kites/src/Kite.ts", text: one },
    { path: "packages/kites/src/deep/Rope.ts", text: "export const rope = 1\n" },
    { path: "apps/sky/src/main.ts", text: "/** Runs. */\n" }
  ]
  assert.deepStrictEqual(Object.fromEntries(Size.countsOf(sources)), {
    "kites: code lines": 3,
    "kites: files": 2,
    "kites: numbered invariants": 2,
    "kites: services": 1,
    "sky: code lines": 0,
    "sky: files": 1,
    "sky: numbered invariants": 0,
    "sky: services": 0
  })
})
