/**
 * Checks the packages' imports, and that the core stays pure.
 *
 * - Dependencies point one way: wire <- kernel <- policy <- journal, providers <- simulated <- session-orchestrator (`allowed`).
 * - The core (wire, kernel, policy) imports nothing of the platform. It uses no timer, no clock but the injected one and no randomness of
 *   its own; it runs no effect itself and waits for no promise (D10).
 * - A package's internal files are not imported from outside by a path.
 * - In the service, no import points to a higher room (`rooms`). No files import each other in a circle, not even types.
 * - Packages and outer rooms of the service stand on `MOST_FLOORS` floors at most.
 *
 * Sources are read as text without comments and strings. A compiler would know more, but this is enough: the names searched for have
 * no other meaning in these packages.
 */
import { posix } from "node:path"

/** The imports allowed in each package's `src`, besides `effect`. `node:` stands for the platform. */
export const allowed: { readonly [name: string]: ReadonlyArray<string> } = {
  wire: [],
  kernel: ["@holdfast/wire"],
  policy: ["@holdfast/wire", "@holdfast/kernel"],
  providers: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy"],
  journal: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy"],
  mcp: [
    "@holdfast/wire",
    "@holdfast/kernel",
    "@holdfast/policy",
    "@effect/platform-node",
    "@modelcontextprotocol/client",
    "node:"
  ],
  simulated: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy", "@holdfast/providers"],
  "ai-sdk": [
    "@holdfast/wire",
    "@holdfast/kernel",
    "@holdfast/policy",
    "@holdfast/providers",
    "holdfast",
    "@ai-sdk/provider"
  ],
  "effect-ai": ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy", "@holdfast/providers", "holdfast"],
  // Without Effect: types of wire alone.
  client: ["@holdfast/wire"],
  web: [
    "@holdfast/wire",
    "@holdfast/client",
    "react",
    "react-dom",
    "react-markdown",
    "remark-gfm",
    "rehype-sanitize",
    "highlight.js",
    "lowlight",
    "temml",
    // Types alone.
    "mdast-util-from-markdown",
    "micromark-util-types",
    "unified",
    "@tanstack/react-query",
    "@tanstack/react-virtual"
  ],
  langchain: ["holdfast"],
  "openai-agents": ["holdfast"],
  engines: ["@holdfast/wire", "@holdfast/policy", "holdfast"],
  holdfast: [
    "@holdfast/client",
    "@holdfast/wire",
    "@holdfast/kernel",
    "@holdfast/policy",
    "@holdfast/providers",
    "@holdfast/journal"
  ],
  restate: ["holdfast", "@restatedev/restate-sdk"],
  cloudflare: ["holdfast"],
  terminal: ["@holdfast/wire", "@holdfast/client", "get-east-asian-width", "ink", "react", "node:"],
  "session-orchestrator": [
    "@agentclientprotocol/sdk",
    "@holdfast/",
    "@effect/platform-node",
    "@effect/sql-pg",
    "@modelcontextprotocol/client",
    "ajv",
    "prom-client",
    "gpt-tokenizer",
    "ipaddr.js",
    "jsonc-parser",
    "node:"
  ]
}

/**
 * Rooms of the service, lower ones first: a file imports from its own room and from lower ones. A room inside a room has a place of
 * its own. The files beside the rooms (`Composition.ts`, `Program.ts`, `main.ts`) put them together.
 */
export const rooms: ReadonlyArray<string> = [
  // What any room may use.
  "base/text",
  "base/tokens",
  "base/system",
  // The configuration, and what is made of it alone.
  "config/limits",
  "config/reading",
  "config/report",
  "config",
  "config/redaction",
  // The disk.
  "storage",
  // Turns in this process.
  "engine/conversation",
  "engine/pacing",
  "engine/gate",
  "engine/session",
  "engine/spend",
  "engine/turn",
  "engine/parking",
  "engine/recovery",
  "engine/driver",
  "engine/orchestrator",
  // What reads turns.
  "insight/inspection",
  "insight/dry-run",
  // Messages and figures about turns.
  "ops/telemetry/logs",
  "ops/telemetry/metrics",
  "ops/delivery",
  "ops/telemetry/traces",
  "ops/telemetry/incidents",
  "ops/telemetry",
  // What carries calls to turns, and from them.
  "providers",
  "cluster",
  "gateway",
  "rpc",
  "acp",
  "http/body",
  "http/docs",
  "http/page",
  "http",
  "cli/connect",
  "cli/terminal",
  "cli",
  "."
]

/** The most floors of packages and rooms (`floors`). */
export const MOST_FLOORS = 11

/** The packages of the core, and the parts of `effect` that they may use: none with sockets, files or databases. */
const core: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["wire", ["effect", "effect/encoding", "effect/http-api"]],
  ["kernel", ["effect"]],
  ["policy", ["effect"]]
])

/** Single files of a package with further permissions, and the reason. */
const exceptions: { readonly [path: string]: ReadonlyArray<string> } = {
  // SQLite: loaded only by programs that import `@holdfast/journal/sqlite`.
  "packages/journal/src/sqlite/": ["node:"],
  // A provider on a socket: loaded only by programs that import this folder.
  "packages/simulated/src/server/": ["node:"],
  // HTTP on Node: likewise.
  "packages/providers/src/http/Undici.ts": ["undici"],
  "packages/providers/src/http/ContentCoding.ts": ["node:"],
  "packages/providers/src/http/Proxy.ts": ["undici"],
  "packages/providers/src/http/RawCall.ts": ["undici", "node:"],
  // A store on a file: likewise.
  "packages/holdfast/src/stores/Sqlite.ts": ["node:"],
  // A process: likewise.
  "packages/client/src/stdio/": ["node:"],
  "packages/holdfast/src/rpc/": ["node:"],
  // The command, which no module imports.
  "packages/holdfast/src/bin.ts": ["node:"]
}

const impure: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["a timer", /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/],
  ["a clock of its own", /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bperformance\s*\.|\bprocess\s*\.\s*hrtime\b/],
  ["randomness of its own", /\bMath\s*\.\s*random\b|\bcrypto\s*\./],
  ["the platform", /\bprocess\s*\.|\bglobalThis\b|\bfetch\s*\(|\bconsole\s*\./],
  ["an effect that it runs itself", /\bEffect\s*\.\s*run(?:Promise|Sync|Fork|Callback)/],
  ["a promise", /\bnew\s+Promise\b|\basync\b|\bawait\s|\bEffect\s*\.\s*(?:promise|tryPromise|callback)\b/]
]

/** A source file. */
export interface Source {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** The violations in a file, one sentence each. */
export const violations = ({ path, text }: Source): ReadonlyArray<string> => {
  const name = /^(?:packages|apps)\/([^/]+)\/src\//.exec(path)?.[1]
  if (name === undefined) return []
  const permitted = [...(allowed[name] ?? []), ...exceptionsFor(path)]
  const imports = importsOf(text)
    .filter((specifier) =>
      specifier.startsWith(".")
        ? !isOwn(path, specifier)
        : !isEffect(name, specifier) && !permitted.some((prefix) => isUnder(specifier, prefix))
    )
    .map((specifier) => `${path}: ${name} may not import ${specifier}`)
  const upward = upwardImports([{ path, text }]).map(
    ({ path, target }) => `${path}: may not import ${target}, which is in a higher room (tools/src/Boundaries.ts)`
  )
  if (!core.has(name)) return [...imports, ...upward]
  const code = withoutComments(text)
  return [
    ...imports,
    ...impure.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path}: the core may not use ${what} (D10)`)
  ]
}

/** An import of the service that points to a higher room. */
export interface UpwardImport {
  readonly path: string
  readonly target: string
}

/** The imports of sources that point to a higher room. A room without a place in the order has that of the room around it. */
export const upwardImports = (sources: ReadonlyArray<Source>): ReadonlyArray<UpwardImport> =>
  sources.flatMap(({ path, text }) => {
    const from = roomOf(path)
    if (from === undefined) return []
    return importsOf(text)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => ({ path, target: new URL(specifier, `file:///${path}`).pathname.slice(1) }))
      .filter(({ target }) => {
        const to = roomOf(target)
        return to !== undefined && to !== from && rankOf(to) > rankOf(from)
      })
  })

/** The circles of files. */
export const circles = (sources: ReadonlyArray<Source>): ReadonlyArray<ReadonlyArray<string>> => {
  const imports = new Map(sources.map((source) => [source.path, targetsOf(source)]))
  return ringsOf(imports).filter((ring) => ring.length > 1)
}

/**
 * Packages and the outer rooms of the service by floors, lowest first: a room stands above all that it imports. Rooms that import each other
 * stand on one floor.
 */
export const floors = (sources: ReadonlyArray<Source>): ReadonlyArray<ReadonlyArray<string>> => {
  const imports = new Map<string, Set<string>>()
  for (const source of sources) {
    const room = outerRoomOf(source.path)
    const targets = imports.get(room) ?? new Set()
    const packages = importsOf(source.text).flatMap((specifier) => {
      const [, own, library] = /^(?:@holdfast\/([\w-]+)|(holdfast))(?:\/|$)/.exec(specifier) ?? []
      return own ?? library ?? []
    })
    for (const target of [...targetsOf(source).map(outerRoomOf), ...packages]) if (target !== room) targets.add(target)
    imports.set(room, targets)
  }
  const found: Array<Array<string>> = []
  const floorOf = new Map<string, number>()
  // A ring comes after all that it imports.
  for (const ring of ringsOf(new Map(Array.from(imports, ([room, targets]) => [room, [...targets]])))) {
    const below = ring.flatMap((room) => Array.from(imports.get(room) ?? [], (target) => floorOf.get(target) ?? -1))
    const floor = Math.max(-1, ...below) + 1
    for (const room of ring) floorOf.set(room, floor)
    found[floor] = [...(found[floor] ?? []), ...ring]
  }
  return found
}

// --- internal

/** The files of relative imports, from the root of the repository. */
const targetsOf = ({ path, text }: Source): ReadonlyArray<string> =>
  importsOf(text)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => new URL(specifier, `file:///${path}`).pathname.slice(1))

/** The strongly connected parts of a graph (Tarjan). */
const ringsOf = (graph: ReadonlyMap<string, ReadonlyArray<string>>): ReadonlyArray<ReadonlyArray<string>> => {
  const rings: Array<ReadonlyArray<string>> = []
  const places = new Map<string, number>()
  const open: Array<string> = []
  /** The lowest place that a file reaches. */
  const visit = (file: string): number => {
    const place = places.size
    places.set(file, place)
    open.push(file)
    let lowest = place
    for (const target of graph.get(file) ?? []) {
      if (!graph.has(target)) continue
      const seen = places.get(target)
      if (seen === undefined) lowest = Math.min(lowest, visit(target))
      else if (open.includes(target)) lowest = Math.min(lowest, seen)
    }
    if (lowest === place) rings.push(open.splice(open.indexOf(file)))
    return lowest
  }
  for (const file of graph.keys()) if (!places.has(file)) visit(file)
  return rings
}

const SERVICE = "apps/session-orchestrator/src/"

/** The folder of a file of the service. */
const roomOf = (path: string): string | undefined =>
  path.startsWith(SERVICE) ? posix.dirname(path.slice(SERVICE.length)) : undefined

/** A package, or an outer folder of the service. */
const outerRoomOf = (path: string): string => {
  const room = roomOf(path)
  return room === undefined ? (path.split("/")[1] ?? path) : `service/${room.split("/", 1)[0]}`
}
const rankOf = (room: string): number => {
  const rank = rooms.indexOf(room)
  return rank >= 0 || room === "." ? rank : rankOf(posix.dirname(room))
}

const exceptionsFor = (path: string): ReadonlyArray<string> =>
  Object.entries(exceptions)
    .filter(([prefix]) => path.startsWith(prefix))
    .flatMap(([, specifiers]) => specifiers)

/** Whether a relative import stays in its package. */
const isOwn = (path: string, specifier: string): boolean => {
  const [kind = "", name = ""] = path.split("/")
  return new URL(specifier, `file:///${path}`).pathname.startsWith(`/${kind}/${name}/`)
}

const isEffect = (name: string, specifier: string): boolean => {
  const parts = core.get(name)
  if (parts === undefined) return isUnder(specifier, "effect")
  // `effect/Schema` is a module of the barrel `effect`; `effect/http` is a part of its own.
  return parts.includes(specifier) || (parts.includes("effect") && /^effect\/[A-Z]\w*$/.test(specifier))
}

const isUnder = (specifier: string, prefix: string): boolean =>
  specifier === prefix || specifier.startsWith(/[/:]$/.test(prefix) ? prefix : `${prefix}/`)

const importsOf = (text: string): ReadonlyArray<string> =>
  Array.from(
    text.matchAll(
      /^\s*(?:import|export)\s+[\w*{}\s,$]+?\sfrom\s+["']([^"'\n]+)["']|^\s*import\s+["']([^"'\n]+)["']|\bimport\s*\(\s*["']([^"'\n]+)["']/gm
    ),
    (match) => match[1] ?? match[2] ?? match[3] ?? ""
  )

/** Strings are removed, too: a message may contain "process.". */
const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`\w])\/\/.*$|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/gm, " ")
