import { assert, describe, it } from "@effect/vitest"
import * as NamedPaths from "../src/NamedPaths.ts"

const namesIn = (text: string) => NamedPaths.namesIn({ path: "docs/KITES.md", text })

describe("a page names", () => {
  it.each([
    ["See `Rope.ts`, `src/Kite.ts` and `fixtures/*.json`.", ["Rope.ts", "src/Kite.ts", "fixtures/*.json"]],
    ["All of `packages/kites/` and `.ci/run`.", ["packages/kites", ".ci/run"]],
    ["A [page](../docs/Wind.md#gusts), [one](#here), [another](https://example.com/Kite.ts).", ["../docs/Wind.md"]],
    ["```\npackages/kites/src/Kite.ts  flies\n```", ["packages/kites/src/Kite.ts"]],
    ["Twice: `Kite.ts` and `Kite.ts`.", ["Kite.ts"]],
    [
      "| Term | Where | Avoid |\n|---|---|---|\n| kite | `kites/Kite`, `kites/Rope` | bird (`birds/Bird`) |",
      ["kites/Kite", "kites/Rope"]
    ]
  ])("the paths in %j", (text, names) => {
    assert.deepStrictEqual(namesIn(text), names)
  })

  it.each([
    "`provider/model`, `text/plain`, `@kites/rope`, `/openapi.json`, `GET /kites/Kite.ts`",
    "Your `holdfast.config.json`.",
    "| Kite | Colour |\n|---|---|\n| `kites/Kite` | red |"
  ])("no path in %j", (text) => {
    assert.deepStrictEqual(namesIn(text), [])
  })
})

describe("a path", () => {
  const files = new Set([
    "docs/Wind.md",
    "packages/kites/src/Kite.ts",
    "packages/kites/test/Kite.test.ts",
    "packages/kites/README.md",
    "apps/session-orchestrator/src/storage/Store.ts"
  ])
  const problemsIn = (path: string, text: string) => NamedPaths.problems({ path, text }, (file) => files.has(file))

  it.each([
    [
      "docs/KITES.md",
      "`Wind.md` `packages/kites/src/Kite.ts` `kites/Kite.ts` `kites/test/Kite.test.ts` `storage/Store.ts`"
    ],
    ["packages/kites/README.md", "`Kite.ts` `src/Kite.ts` [wind](../../docs/Wind.md)"],
    ["docs/KITES.md", "| Where |\n|---|\n| `kites/Kite`, `storage/Store` |"]
  ])("is found from %s: %s", (path, text) => {
    assert.deepStrictEqual(problemsIn(path, text), [])
  })

  it.each([
    ["docs/KITES.md", "`Kite.ts`", "Kite.ts"],
    ["docs/KITES.md", "`kites/Rope.ts`", "kites/Rope.ts"],
    ["packages/kites/README.md", "[wind](docs/Wind2.md)", "docs/Wind2.md"],
    ["docs/KITES.md", "| Where |\n|---|\n| `kites/Rope` |", "kites/Rope"]
  ])("that does not exist is reported: %s, %s", (path, text, name) => {
    assert.deepStrictEqual(problemsIn(path, text), [
      `${path} names ${name}, which does not exist. Name the file that has its content now.`
    ])
  })
})
