/** The README's code is the examples', and the examples run. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { promisify } from "node:util"

const root = new URL("../../", import.meta.url).pathname
const readme = readFileSync(`${root}README.md`, "utf8")

describe("the README", () => {
  it.each(
    Array.from(readme.matchAll(/<!-- (\S+)#(\w+) -->\s*```ts\n([\s\S]*?)\n```/g), ([, file, region, code]) => ({
      file,
      region,
      code
    }))
  )("shows $file as it is", ({ file, region, code }) => {
    const source = readFileSync(`${root}${file}`, "utf8")
    const [, cut] = source.split(new RegExp(`// #(?:end)?region ${region}\\n?`))
    assert.strictEqual(code, cut?.trimEnd())
  })

  it("links to what is there", () => {
    const links = Array.from(readme.matchAll(/\]\(((?!https?:)[^)#]+)\)/g), ([, path]) => path ?? "")
    assert.isAbove(links.length, 5)
    assert.deepStrictEqual(
      links.filter((path) => !existsSync(root + path)),
      []
    )
  })
})

/** What an example prints. */
const run = (file: string): Promise<string> =>
  promisify(execFile)(process.execPath, [`${root}examples/src/${file}`], { timeout: 12_000 }).then(
    ({ stdout }) => stdout
  )

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
