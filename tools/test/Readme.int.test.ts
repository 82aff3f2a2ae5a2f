/** The README and the pages show what the program has and prints; the code in them is that of the examples, and the examples run. */
import { assert, describe, it } from "@effect/vitest"
import { TurnEvent } from "@holdfast/wire"
import { Api } from "@holdfast/wire/api"
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { promisify } from "node:util"
import { corpus } from "../../packages/policy/test/corpus/Corpus.ts"
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

/** A running service on a simulated model, its address and its folder. */
const withService = (use: (address: string, cwd: string) => Promise<void>): Promise<void> =>
  inFolder({ server: { port: 0 }, model: "simulated/ok" }, async (cwd) => {
    const service = spawn(process.execPath, [program, "serve"], { cwd, stdio: ["ignore", "pipe", "ignore"] })
    try {
      let address: string | undefined
      for await (const line of createInterface(service.stdout)) {
        address = /127\.0\.0\.1:\d+/.exec(line)?.[0]
        if (address !== undefined) break
      }
      await use(address ?? "", cwd)
    } finally {
      service.kill()
      await once(service, "exit")
    }
  })

/** Keys and files that the configurations of the README expect. */
const surroundings = {
  PATH: process.env["PATH"],
  OPENAI_API_KEY: "k",
  ANTHROPIC_API_KEY: "k",
  OPENROUTER_API_KEY: "k",
  AZURE_OPENAI_API_KEY: "k"
}

/** The pages that people read. */
const pages = globSync("{{README,CONTRIBUTING,SECURITY}.md,docs/*.md,{packages,apps}/*/README.md}", {
  cwd: root
}).toSorted()

/** The code blocks of a page in a language. */
const blocksOf = (page: string, language: string): ReadonlyArray<string> =>
  Array.from(page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, "g")), ([, code]) => code ?? "")

describe("the README", () => {
  const text = textOf("README.md")

  it("has 160 lines at most, and begins with the two commands", () => {
    assert.isAtMost(text.trimEnd().split("\n").length, 160)
    assert.match(text, /^# Holdfast\n\n```sh\nnpx --yes pnpm@12 start .*\nnpx --yes pnpm@12 test .*\n```\n/)
  })

  it("has the number of errors in the corpus", () => {
    assert.include(text, `${corpus.length} recorded and documented errors`)
  })

  it("has the figures of docs/crowd.md", () => {
    const [, gate = "", ideal = "", without = ""] =
      /1,000 turns: all answered (\d+ s) after the outage; ideal (\d+ s), without the gate ([^|]*?) \|/.exec(text) ?? []
    const picture = `within ${gate} of the endpoint's return with the gate, ${without} without it, and ${ideal} ideally`
    assert.include(textOf("docs/crowd.md"), picture)
  })

  it("has the beginning of the report that docs/report.md shows as printed", () => {
    const [report = ""] = blocksOf(text, "text")
    assert.isAbove(report.split("\n").length, 10)
    assert.include(textOf("docs/report.md"), `\`\`\`text\n${report}\n`)
  })

  it("rule X1: shows what a turn prints whose process is killed in a wait, and what the next process prints", () => {
    const [, prompt = "", first = "", last = ""] =
      /^\$ holdfast run --turn-id sky "(.*)" &\n([^]*)\n\$ kill -9 \$!\n\$ holdfast run --turn-id sky ".*"\n([^]*)$/.exec(
        blocksOf(text, "console")[0] ?? ""
      ) ?? []
    // As many retries fit into the budget as by the schedule that the page shows.
    const retry = { schedule: { type: "steps", delays: ["5 millis", "2 seconds"], tail: "25 minutes" }, jitter: "none" }
    const plain = (lines: string) => lines.replaceAll(/ in \d+ m?s|, at [\d:]+|(?<=conversation )\S+/g, "").split("\n")
    return inFolder({ model: "simulated/outage-2", retry }, async (cwd) => {
      const args = ["run", "--turn-id", "sky", prompt]
      const killed = spawn(process.execPath, [program, ...args], { cwd, stdio: ["ignore", "ignore", "pipe"] })
      const ended = once(killed, "exit")
      const seen: Array<string> = []
      for await (const line of createInterface(killed.stderr)) {
        seen.push(line)
        if (line.includes("retry 2/")) break
      }
      killed.kill("SIGKILL")
      await ended
      assert.deepStrictEqual(plain(seen.join("\n")), plain(first))
      const { stderr, stdout } = await holdfast(args, { cwd, env: { PATH: process.env["PATH"] } })
      // A wait that is not over yet is announced again.
      const lasting = (lines: string) => plain(lines).filter((line) => !line.includes("retry 2/"))
      assert.deepStrictEqual(lasting(stderr + stdout.trimEnd()), lasting(last))
    })
  })

  it("embeds in 12 lines at most; so does docs/embedding.md with Effect", () => {
    const examples = [...blocksOf(text, "ts"), ...blocksOf(textOf("docs/embedding.md"), "ts")].filter((code) =>
      /\bhf\.turn\(|\brunTurn\(\{ \.\.\.ids/.test(code)
    )
    assert.lengthOf(examples, 2)
    for (const code of examples) assert.isAtMost(code.split("\n").length, 12)
  })
})

describe("docs/configuration.md", () => {
  it("has configurations of providers that are accepted", async () => {
    const section = textOf("docs/configuration.md").split("## Your provider\n")[1]?.split("\n## ")[0] ?? ""
    const configurations = blocksOf(section, "json")
    assert.isAbove(configurations.length, 3)
    const check = (code: string) =>
      inFolder(JSON.parse(code), (cwd) => holdfast(["config", "check"], { cwd, env: surroundings }))
    await Promise.all(configurations.map(check))
  })
})

describe("docs/api.md", () => {
  const text = textOf("docs/api.md")

  it("has every call of the API with the fields of its body, and no other", () => {
    const { components, paths } = OpenApi.fromApi(Api.Api)
    const schemaOf = (schema: unknown): Readonly<Record<string, unknown>> => {
      const { $ref, ...own } = Object(schema)
      return typeof $ref === "string" ? schemaOf(components.schemas[$ref.split("/").at(-1) ?? ""]) : own
    }
    const fieldsOf = (operation: unknown): ReadonlyArray<string> => {
      const { properties = {}, required = [] } = schemaOf(
        Object(operation).requestBody?.content["application/json"]?.schema
      )
      const names = Object.keys(Object(properties)).filter((name) => name !== "commandId")
      return names.map((name) => (Array.isArray(required) && required.includes(name) ? name : `${name}?`)).toSorted()
    }
    const calls = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        call: `${method.toUpperCase()} ${path.replace(/\{(conversationId|chatId)\}/, ":id").replace("{turnId}", ":turnId")}`,
        fields: fieldsOf(operation)
      }))
    )
    const cells = Array.from(
      text.matchAll(/^\| (`(?:GET|POST|PUT|DELETE) .*?`)[^`|]* \| (?!has)/gm),
      ([, cell = ""]) => cell
    )
    const rows = cells.flatMap((cell) =>
      Array.from(
        cell.matchAll(/`((?:GET|POST|PUT|DELETE) [^\s`]+)`(?: `\{(.*?)\}`)?/g),
        ([, call = "", fields = ""]) => ({
          call: call.replace("…", "/v1/conversations/:id"),
          fields: fields.split(", ").filter(Boolean).toSorted()
        })
      )
    )
    const byCall = (a: { readonly call: string }, b: { readonly call: string }) => (a.call < b.call ? -1 : 1)
    assert.deepStrictEqual(rows.toSorted(byCall), calls.toSorted(byCall))
  })

  it("has an event as it is sent", () => {
    const event = blocksOf(text, "json").find((code) => code.startsWith('{"type"')) ?? ""
    const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
    assert.strictEqual(decode(event.replaceAll("…", "id")).type, "provider-retry")
  })

  it("rule X15: leaves work as it says", () => {
    const script = blocksOf(text, "sh").find((code) => code.includes("respond-async")) ?? ""
    return withService(async (address, cwd) => {
      const { stdout } = await execute("sh", ["-c", script.replaceAll("localhost:4747", address)], { cwd })
      const [accepted, state] = stdout.replace("}{", "}\n{").split("\n")
      assert.deepStrictEqual(JSON.parse(accepted ?? ""), { turnId: "weekly-1" })
      assert.include(["queued", "running", "completed"], JSON.parse(state ?? "").status)
    })
  })
})

describe("docs/recipes.md", () => {
  it("rule X15: has a first night that runs, and leaves an answer to each prompt", () =>
    withService(async (address, cwd) => {
      const [script = ""] = blocksOf(textOf("docs/recipes.md"), "sh")
      const night = `set -e\nholdfast() { '${process.execPath}' '${program}' "$@"; }\n${script}`
      const env = { ...process.env, HOLDFAST_URL: `http://${address}` }
      const { stdout } = await execute("sh", ["-c", night], { cwd, env })
      assert.match(stdout, /answered {2,}1 of 1\n[^]*\n2 answered, 0 failed/)
      assert.lengthOf(globSync("*.md", { cwd }), 2)
    }))
})

describe("the commands", () => {
  const known = holdfast(["--help"], { cwd: root }).then(({ stdout }) =>
    Array.from((stdout.split("GLOBAL FLAGS\n")[1] ?? "").matchAll(/^ {2}([a-z-]+) {2}/gm), ([, name = ""]) => name)
  )

  it("each has a row in docs/cli.md, and nothing else has", async () => {
    const commands = await known
    const rows = textOf("docs/cli.md").match(/^\| `holdfast .*?\|/gm) ?? []
    const named = rows.flatMap((row) => Array.from(row.matchAll(/`holdfast ([a-z-]+)/g), ([, name = ""]) => name))
    assert.isAbove(commands.length, 20)
    assert.deepStrictEqual(Array.from(new Set(named)).toSorted(), commands.toSorted())
  })

  it("are all that the pages name", async () => {
    const commands = await known
    const named = pages.flatMap((page) =>
      Array.from(textOf(page).matchAll(/(?:^|`|\$ |pnpm@12 )holdfast ([a-z][a-z-]*)/gm), ([, name = ""]) => ({
        page,
        name
      }))
    )
    assert.isAbove(named.length, 100)
    assert.deepStrictEqual(
      named.filter(({ name }) => !commands.includes(name)),
      []
    )
  })
})

describe("links between pages", () => {
  /** The anchors of a page's headings, as GitHub makes them. */
  const anchorsOf = (path: string): ReadonlyArray<string> =>
    Array.from(textOf(path).matchAll(/^#+ (.*)$/gm), ([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-")
    )

  it.each(pages)("%s names headings that are there", (page) => {
    const links = Array.from(
      textOf(page).matchAll(/\]\(((?!https?:)[^)#\s]*)#([^)]+)\)/g),
      ([, path = "", anchor = ""]) => ({
        path: path === "" ? page : join(dirname(page), path),
        anchor
      })
    )
    const broken = links.filter(({ anchor, path }) => path.endsWith(".md") && !anchorsOf(path).includes(anchor))
    assert.deepStrictEqual(broken, [])
  })
})

const outputs = new Map<string, Promise<string>>()

/** What an example prints; each runs once. */
const run = (file: string): Promise<string> => {
  const output =
    outputs.get(file) ?? execute(process.execPath, [`${root}examples/src/${file}`]).then(({ stdout }) => stdout)
  outputs.set(file, output)
  return output
}

// They wait for schedules most of the time, so they run side by side.
describe.concurrent("every example", () => {
  it.each(readdirSync(`${root}examples/src`))("%s runs to its end", async (file) => {
    assert.notStrictEqual(await run(file), "")
  })

  it("rule X1: the engine of one's own takes its turn up behind its last record", async () => {
    assert.deepStrictEqual((await run("05-drive-it-yourself.ts")).trim().split("\n"), [
      "died behind step/0/decision/0",
      "step/0/attempt/0 step/0/decision/0 step/0/sleep/0 step/0/attempt/1 seal",
      "turn-start message retry-end message turn-end"
    ])
  })

  it("rule X1: a turn whose process is killed while it waits is resumed from its file", async () => {
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
