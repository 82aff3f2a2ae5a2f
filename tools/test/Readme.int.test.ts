/** The code in the READMEs is that of the examples, and the examples run. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"

const root = new URL("../../", import.meta.url).pathname
const execute = promisify(execFile)
const textOf = (path: string): string => readFileSync(root + path, "utf8")

describe.each(globSync("{README.md,{packages,apps}/*/README.md}", { cwd: root }).toSorted())("%s", (readme) => {
  const text = textOf(readme)
  const cuts = Array.from(
    text.matchAll(/<!-- (\S+)#([\w-]+) -->\s*```ts\n([\s\S]*?)\n```/g),
    ([, file, region, code]) => ({
      file,
      region,
      code
    })
  )

  it.each(cuts)("shows $file as it is", ({ file, region, code }) => {
    const [, cut] = textOf(file ?? "").split(new RegExp(`// #(?:end)?region ${region}\\n?`))
    assert.strictEqual(code, cut?.trimEnd())
  })

  it("has no TypeScript that no example has", () => {
    assert.strictEqual(text.match(/^```ts$/gm)?.length ?? 0, cuts.length)
  })

  it("links to what is there", () => {
    const links = Array.from(text.matchAll(/\]\(((?!https?:)[^)#]+)/g), ([, path]) => path ?? "")
    if (readme === "README.md") assert.isAbove(links.length, 5)
    assert.deepStrictEqual(
      links.filter((path) => !existsSync(join(root, dirname(readme), path))),
      []
    )
  })
})

describe("the README of the service", () => {
  const example = (name: string): string =>
    new RegExp(`<!-- example: ${name} -->\\s*\`\`\`\\w+\\n([\\s\\S]*?)\\n\`\`\``).exec(
      textOf("apps/session-orchestrator/README.md")
    )?.[1] ?? ""

  it("shows what the command prints", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-readme-"))
    try {
      writeFileSync(join(folder, "holdfast.config.json"), example("configuration"))
      const { stdout } = await execute(`${root}apps/session-orchestrator/bin/holdfast`, ["schedule"], { cwd: folder })
      assert.strictEqual(stdout.trimEnd(), example("schedule"))
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

/** What an example prints. */
const run = (file: string): Promise<string> =>
  execute(process.execPath, [`${root}examples/src/${file}`]).then(({ stdout }) => stdout)

describe("every example", () => {
  it.each(readdirSync(`${root}examples/src`))("%s runs to its end", async (file) => {
    assert.notStrictEqual(await run(file), "")
  })

  it("X1: the engine of one's own takes its turn up behind its last record", async () => {
    assert.deepStrictEqual((await run("05-drive-it-yourself.ts")).trim().split("\n"), [
      "died behind step/0/decision/0",
      "step/0/attempt/0 step/0/decision/0 step/0/sleep/0 step/0/attempt/1 seal",
      "turn-start message retry-end message turn-end"
    ])
  })
})
