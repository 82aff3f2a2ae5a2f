/** The code in the READMEs is that of the examples, and the examples run. */
import { assert, describe, it } from "@effect/vitest"
import { TurnEvent } from "@holdfast/wire"
import { Schema } from "effect"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { folder } from "../src/bundleProgram.ts"

const root = new URL("../../", import.meta.url).pathname
const execute = promisify(execFile)
const textOf = (path: string): string => readFileSync(root + path, "utf8")

describe.each(
  globSync("{README.md,docs/{clients,embedding}.md,{packages,apps}/*/README.md}", { cwd: root }).toSorted()
)("%s", (readme) => {
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

/** The program of this moment, and what it is run with. */
const program = join(folder, "main.js")
const holdfast = (args: ReadonlyArray<string>, options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv }) =>
  execute(process.execPath, [program, ...args], options)

/** A new folder for as long as a test uses it. */
const inFolder = async <A>(config: unknown, use: (folder: string) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-readme-"))
  try {
    if (config !== undefined) writeFileSync(join(folder, "holdfast.config.json"), JSON.stringify(config))
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Keys and files that the configurations of the README expect. */
const surroundings = {
  PATH: process.env["PATH"],
  OPENAI_API_KEY: "k",
  ANTHROPIC_API_KEY: "k",
  OPENROUTER_API_KEY: "k",
  AZURE_OPENAI_API_KEY: "k"
}

describe("the README", () => {
  const text = textOf("README.md")
  const blocks = (language: string): ReadonlyArray<string> =>
    Array.from(text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, "g")), ([, code]) => code ?? "")
  const configurations = blocks("json").filter((code) => !code.startsWith('{"type"'))

  it("has configurations that are accepted", async () => {
    assert.isAbove(configurations.length, 5)
    const check = (code: string) =>
      inFolder(JSON.parse(code), (cwd) => holdfast(["config", "check"], { cwd, env: surroundings }))
    await Promise.all(configurations.map(check))
  })

  it("has an event as it is sent", () => {
    const event = blocks("json").find((code) => code.startsWith('{"type"')) ?? ""
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
    assert.strictEqual(decode(event.replaceAll("…", "id")).type, "provider-retry")
  })

  it("shows what a turn through an outage prints", () => {
    const [shown = ""] = blocks("console")
    const [, prompt = ""] = /"(.*)"/.exec(shown) ?? []
    const [, begin = "", ...rest] = shown.split("\n")
    assert.match(begin, /^Turn run-.* of conversation .*\.$/)
    const expected = rest.join(" ")
    // As many retries fit into the budget as by the schedule that the page shows.
    const retry = { schedule: { type: "steps", delays: ["5 millis", "10 millis"], tail: "25 minutes" }, jitter: "none" }
    return inFolder({ model: "simulated/outage-2", retry }, async (cwd) => {
      const { stderr, stdout } = await holdfast(["run", prompt], { cwd, env: { PATH: process.env["PATH"] } })
      const [first = "", ...lines] = stderr.trim().split("\n")
      assert.match(first, /^Turn run-.* of conversation .*\.$/)
      const plain = (words: string) => words.replaceAll(/ in \d+ m?s|, at [\d:]+/g, "")
      assert.strictEqual(plain([...lines, stdout.trim()].join(" ")), plain(expected))
    })
  })

  it("embeds in 12 lines at most, without Effect and with it", () => {
    const examples = blocks("ts").filter((code) => /\b(hf\.turn|runTurn)\(/.test(code))
    assert.lengthOf(examples, 2)
    for (const code of examples) assert.isAtMost(code.split("\n").length, 12)
  })

  it("X15: leaves work as it says", () => {
    const script = blocks("sh").find((code) => code.includes("respond-async")) ?? ""
    return inFolder({ server: { port: 0 }, model: "simulated/ok" }, async (cwd) => {
      const service = spawn(process.execPath, [program, "serve"], { cwd, stdio: ["ignore", "pipe", "ignore"] })
      try {
        let address: string | undefined
        for await (const line of createInterface(service.stdout)) {
          address = /127\.0\.0\.1:\d+/.exec(line)?.[0]
          if (address !== undefined) break
        }
        const { stdout } = await execute("sh", ["-c", script.replaceAll("localhost:4747", address ?? "")], { cwd })
        const [accepted, state] = stdout.replace("}{", "}\n{").split("\n")
        assert.deepStrictEqual(JSON.parse(accepted ?? ""), { turnId: "weekly-1" })
        assert.include(["queued", "running", "completed"], JSON.parse(state ?? "").status)
      } finally {
        service.kill()
        await once(service, "exit")
      }
    })
  })
})

describe("the README of the service", () => {
  const example = (name: string): string =>
    new RegExp(`<!-- example: ${name} -->\\s*\`\`\`\\w+\\n([\\s\\S]*?)\\n\`\`\``).exec(
      textOf("apps/session-orchestrator/README.md")
    )?.[1] ?? ""

  it("shows what the command prints", () =>
    inFolder(JSON.parse(example("configuration")), async (cwd) => {
      const { stdout } = await holdfast(["schedule"], { cwd })
      assert.strictEqual(stdout.trimEnd(), example("schedule"))
    }))
})

/** The examples load the same modules: what Node compiled for one serves the others. */
const env = { ...process.env, NODE_COMPILE_CACHE: `${root}node_modules/.cache/examples` }

const outputs = new Map<string, Promise<string>>()

/** What an example prints; each runs once. */
const run = (file: string): Promise<string> => {
  const output =
    outputs.get(file) ??
    execute(process.execPath, [`${root}examples/src/${file}`], { env }).then(({ stdout }) => stdout)
  outputs.set(file, output)
  return output
}

// They wait for schedules most of the time, so they run side by side.
describe.concurrent("every example", () => {
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

  it("X1: a turn whose process is killed while it waits is resumed from its file", async () => {
    const lines = (await run("11-survive-a-kill.ts")).trim().split("\n")
    // A wait that is not over yet is announced again.
    const lasting = lines.filter((line) => line !== "provider-retry")
    assert.deepStrictEqual(lasting, [
      "killed while it waited",
      "step-start",
      "text-delta",
      "completed after 2 attempts"
    ])
  })
})
