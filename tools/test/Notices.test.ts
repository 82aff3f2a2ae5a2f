/** The licences of what a bundle contains. */
import { assert, it } from "vitest"
import { createRequire } from "node:module"
import * as Notices from "../src/pack/Notices.ts"

const yaml = createRequire(import.meta.url).resolve("yaml")

it("each package is named once, with its licence; our own modules are not", () => {
  const text = Notices.of([yaml, yaml.replace("index.js", "other.js"), import.meta.filename, "\0virtual"])
  assert.match(text, /^# .*\n\n## yaml [\d.]+\n\n```\nCopyright/)
  assert.strictEqual(text.match(/^## /gm)?.length, 1)
})

it("a module is of the package that is nearest to it", () => {
  assert.strictEqual(
    Notices.packageOf("/a/node_modules/b/node_modules/@c/d/e.js"),
    "/a/node_modules/b/node_modules/@c/d"
  )
  assert.isUndefined(Notices.packageOf("/a/src/e.ts"))
})
