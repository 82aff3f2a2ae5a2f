/** An empty project with the packed packages, esbuild and the AI SDK, as a user would install them from the npm registry. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ESBUILD } from "../../../runtimes/src/Bundles.ts"
import { here } from "../Trees.ts"

/** The packages that are installed, in the order in which they depend on each other. */
const PACKAGES = ["wire", "client", "kernel", "policy", "journal", "providers", "holdfast"]

/** Other packages, in the versions of the workspace. */
const OTHERS = { ai: "packages/ai-sdk", "@ai-sdk/openai": "packages/ai-sdk", effect: "packages/kernel" }

/** Packs and installs everything, calls a function with the folder, and removes it. Takes a minute, most of it for the registry. */
export const within = async <A>(act: (project: string) => Promise<A>): Promise<A> => {
  const project = mkdtempSync(join(tmpdir(), "holdfast-packed-"))
  try {
    const tarballs = PACKAGES.map((name) => [nameOf(name), `file:${packed(name)}`] as const)
    const dependencies = { ...Object.fromEntries(tarballs), ...versions(), esbuild: ESBUILD }
    // Packages depend on each other by version, and nothing is published: every one is the tarball's.
    const overrides = Object.fromEntries(tarballs.map(([name]) => [name, `$${name}`]))
    writeFileSync(
      join(project, "package.json"),
      JSON.stringify({ private: true, type: "module", dependencies, overrides })
    )
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: project, stdio: "inherit" })
    return await act(project)
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

/** Bundles a program for Node into one minified file, and returns its path. */
export const bundled = (project: string, name: string, program: string): string => {
  const [source, target] = [join(project, `${name}.mjs`), join(project, `${name}.bundle.mjs`)]
  writeFileSync(source, program)
  // Some packages of the AI SDK are CommonJS, which needs `require` in an ES module.
  const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'
  execFileSync(join(project, "node_modules/.bin/esbuild"), [
    source,
    ..."--bundle --minify --format=esm --platform=node --log-level=error".split(" "),
    `--banner:js=${banner}`,
    `--outfile=${target}`
  ])
  return target
}

// --- internal

const manifest = (folder: string) => JSON.parse(readFileSync(join(here.folder, folder, "package.json"), "utf8"))

const nameOf = (name: string): string => manifest(`packages/${name}`).name

const packed = (name: string): string => {
  const cwd = join(here.folder, "packages", name)
  const printed = execFileSync(process.execPath, [join(here.folder, "tools/src/pack/main.ts")], {
    cwd,
    encoding: "utf8"
  })
  return join(here.folder, printed.split(",", 1)[0] ?? "")
}

const versions = () =>
  Object.fromEntries(
    Object.entries(OTHERS).map(([name, folder]) => {
      const file = join(here.folder, folder, "node_modules", name, "package.json")
      return [name, JSON.parse(readFileSync(file, "utf8")).version]
    })
  )
