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

it("finds headers of more than 12 lines, and files with more than 3 numbered invariants", () => {
  const headed = (first: string, lines: ReadonlyArray<string>) =>
    `${first}/**\n${lines.map((line) => ` * ${line}\n`).join("")} */\nimport "./Kite.ts"\n/**\n${" * Flies.\n".repeat(13)} */\n`
  const invariants = ["K1", "K2", "K3"].map((id) => `Kite.${id}. It flies.`)
  const found = Size.longHeaders([
    { path: "packages/kites/src/Kite.ts", text: headed("", Array(12).fill("Flies.")) },
    { path: "packages/kites/src/Long.ts", text: headed("#!/usr/bin/env node\n", Array(13).fill("Flies.")) },
    { path: "packages/kites/src/Rope.ts", text: headed("", invariants) },
    { path: "packages/kites/src/Wind.ts", text: headed("", [...invariants, "Kite.K4. It lands."]) }
  ])
  assert.deepStrictEqual(found, [
    "packages/kites/src/Long.ts: its header has 13 lines, expected at most 12. Move what is about one declaration to its doc comment.",
    "packages/kites/src/Wind.ts: it numbers 4 invariants, expected at most 3. Number only those about concurrent state."
  ])
})
