/** Tests that docs/dry-run.md shows what the commands print and draw. `HOLDFAST_WRITE_DOCS=1` writes the page and its picture. */
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { assert } from "vitest"
import * as CommandLine from "../../cli/CommandLine.ts"

const root = new URL("../../../../../", import.meta.url)
const page = readFileSync(new URL("docs/dry-run.md", root), "utf8")
const config = /```json\n([^`]*)```/.exec(page)?.[1] ?? ""
const isWriting = process.env["HOLDFAST_WRITE_DOCS"] === "1"

/** The words of a command line; single quotes keep blanks. */
const words = (line: string): ReadonlyArray<string> =>
  Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? "")

const blocks = Array.from(page.matchAll(/```console\n\$ holdfast (.*)\n([^`]*)```/g), ([, line = "", output = ""]) => ({
  line,
  output
}))

describe("docs/dry-run.md", () => {
  it.each(blocks)("$line", ({ line, output }) =>
    Effect.runPromise(
      Effect.gen(function* () {
        const written = new Map<string, string>()
        const { code, stderr, stdout } = yield* CommandLine.run(words(line), {
          files: { "holdfast.config.json": config },
          parts: { environment: { ANTHROPIC_API_KEY: "key", OPENAI_API_KEY: "key" } },
          written
        })
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
        if (isWriting) {
          const text = readFileSync(new URL("docs/dry-run.md", root), "utf8")
          writeFileSync(
            new URL("docs/dry-run.md", root),
            text.replace(`$ holdfast ${line}\n${output}`, `$ holdfast ${line}\n${stdout}`)
          )
          for (const [path, svg] of written) writeFileSync(new URL(path, root), svg)
        } else {
          assert.strictEqual(stdout, output)
          for (const [path, svg] of written) assert.strictEqual(svg, readFileSync(new URL(path, root), "utf8"))
        }
      })
    )
  )

  it("has examples", () => assert.isAtLeast(blocks.length, 2))
})
