import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "vitest"

const root = join(import.meta.dirname, "../src")

it("the main entry runs no code of another package but the table of commands, so that a page is small", () => {
  const table = readFileSync(join(root, "../../wire/src/Commands.ts"), "utf8")
  assert.notMatch(table, /^import /m)
  const files = globSync("**/*.ts", { cwd: root }).filter((path) => !/^(effect|stdio)\//.test(path))
  assert.isAbove(files.length, 10)
  for (const file of files) {
    const text = readFileSync(join(root, file), "utf8")
    for (const [whole, kind, from = ""] of text.matchAll(/^(import type|import|export)\b[^;]*?\bfrom "([^"]+)"$/gm)) {
      if (/^import \{ (?:type \w+, )?Commands(?:, type \w+)* \} from "@holdfast\/wire"$/.test(whole)) continue
      if (kind !== "import type") assert.match(from, /^\.\.?\//, `${file} imports ${from}`)
      assert.notMatch(from, /\/(effect|stdio)\//, `${file} imports ${from}`)
    }
  }
})
