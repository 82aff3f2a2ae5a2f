/**
 * Checks the packages' imports, and that the core stays pure.
 *
 * Boundaries.B1. Dependencies point one way: wire <- kernel <- policy <- journal, providers <- simulated <- session-orchestrator.
 * Boundaries.B2. The core (wire, kernel, policy) imports nothing of the platform. It uses no timer, no clock but the injected one and
 *     no randomness of its own; it runs no effect itself and waits for no promise (D10).
 * Boundaries.B3. A package's internal files are not imported from outside by a path.
 *
 * Sources are read as text without comments and strings. A compiler would know more, but this is enough: the names searched for have
 * no other meaning in these packages.
 */

/** The imports allowed in each package's `src`, besides `effect`. `node:` stands for the platform. */
export const allowed: { readonly [name: string]: ReadonlyArray<string> } = {
  wire: [],
  kernel: ["@holdfast/wire"],
  policy: ["@holdfast/wire", "@holdfast/kernel"],
  providers: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy"],
  journal: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy"],
  simulated: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy", "@holdfast/providers"],
  holdfast: ["@holdfast/wire", "@holdfast/kernel", "@holdfast/policy", "@holdfast/providers"],
  "session-orchestrator": [
    "@holdfast/",
    "@effect/platform-node",
    "@effect/sql-pg",
    "@modelcontextprotocol/client",
    "ajv",
    "prom-client",
    "gpt-tokenizer",
    "jsonc-parser",
    "node:"
  ]
}

/** The packages of Boundaries.B2, and the parts of `effect` that they may use: none with sockets, files or databases. */
const core: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["wire", ["effect", "effect/encoding", "effect/http-api"]],
  ["kernel", ["effect"]],
  ["policy", ["effect"]]
])

/** Single files of a package with further permissions, and the reason. */
const exceptions: { readonly [path: string]: ReadonlyArray<string> } = {
  // A provider on a socket: loaded only by programs that import this folder.
  "packages/simulated/src/server/": ["node:"],
  // HTTP on Node: likewise.
  "packages/providers/src/Undici.ts": ["undici"],
  "packages/providers/src/Proxy.ts": ["undici"],
  // A store on a file: likewise.
  "packages/holdfast/src/stores/Sqlite.ts": ["node:"]
}

const impure: ReadonlyArray<readonly [name: string, pattern: RegExp]> = [
  ["a timer", /\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/],
  ["a clock of its own", /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bperformance\s*\.|\bprocess\s*\.\s*hrtime\b/],
  ["randomness of its own", /\bMath\s*\.\s*random\b|\bcrypto\s*\./],
  ["the platform", /\bprocess\s*\.|\bglobalThis\b|\bfetch\s*\(|\bconsole\s*\./],
  ["an effect that it runs itself", /\bEffect\s*\.\s*run(?:Promise|Sync|Fork|Callback)/],
  ["a promise", /\bnew\s+Promise\b|\basync\b|\bawait\s|\bEffect\s*\.\s*(?:promise|tryPromise|callback)\b/]
]

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
  if (!core.has(name)) return imports
  const code = withoutComments(text)
  return [
    ...imports,
    ...impure.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path}: the core may not use ${what} (D10)`)
  ]
}

// --- internal

const exceptionsFor = (path: string): ReadonlyArray<string> =>
  Object.entries(exceptions)
    .filter(([prefix]) => path.startsWith(prefix))
    .flatMap(([, specifiers]) => specifiers)

/** Boundaries.B3. */
const isOwn = (path: string, specifier: string): boolean => {
  const [kind = "", name = ""] = path.split("/")
  return new URL(specifier, `file:///${path}`).pathname.startsWith(`/${kind}/${name}/`)
}

const isEffect = (name: string, specifier: string): boolean => {
  const parts = core.get(name)
  return parts === undefined ? isUnder(specifier, "effect") : parts.includes(specifier)
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
