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

describe("every example", () => {
  it.each(readdirSync(`${root}examples/src`))("%s runs to its end", async (file) => {
    const { stdout } = await promisify(execFile)(process.execPath, [`${root}examples/src/${file}`], { timeout: 12_000 })
    assert.notStrictEqual(stdout, "")
  })
})
