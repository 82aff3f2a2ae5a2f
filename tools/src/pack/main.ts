/**
 * Builds the package of the working directory and packs it: `node tools/src/pack/main.ts`, called by the `pack` task of each package.
 *
 * The service is published as a bundle with its page (docs/decisions/0027-the-service-is-a-bundle.md). For other packages the compiler writes JavaScript and
 * types, at the paths that the sources have. Both go into `.pack/`, and the tarball into `dist/` of the repository. A package with
 * `publish.docs` carries the pages for users.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { parse } from "yaml"
import * as PageBuild from "../../../apps/web/tools/PageBuild.ts"
import { bundle } from "../bundleProgram.ts"
import * as Docs from "./Docs.ts"
import * as Manifest from "./Manifest.ts"
import * as Notices from "./Notices.ts"
import * as PureModules from "./PureModules.ts"
import * as Subpaths from "./Subpaths.ts"

const root = join(import.meta.dirname, "../../..")
const folder = process.cwd()
const stage = join(folder, ".pack")

const run = (program: string, args: ReadonlyArray<string>, cwd: string): string => {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  } catch (error) {
    const { stderr = "", stdout = "" } = error as { readonly stderr?: string; readonly stdout?: string }
    console.error(`${program} ${args.join(" ")} failed in ${relative(root, cwd)}:\n${stdout}${stderr}`)
    return process.exit(1)
  }
}

const manifest: Manifest.Manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
const { catalog } = parse(readFileSync(join(root, "pnpm-workspace.yaml"), "utf8"))

/** The modules of each entry of every package, by the package's name and the entry's subpath. */
const entries = globSync("packages/*/package.json", { cwd: root }).flatMap((path) => {
  const { exports = {}, name }: Manifest.Manifest = JSON.parse(readFileSync(join(root, path), "utf8"))
  return Object.entries(exports).flatMap(([subpath, file]) =>
    file.startsWith("./src/") && file.endsWith(".ts")
      ? [{ name, subpath, modules: Subpaths.of(file, readFileSync(join(root, dirname(path), file), "utf8")) }]
      : []
  )
})
const imported = Object.fromEntries(entries.map(({ modules, name, subpath }) => [join(name, subpath), modules]))
const { status, stdout: origin } = spawnSync("git", ["remote", "get-url", "origin"], { cwd: root, encoding: "utf8" })
const url = status === 0 ? Manifest.repositoryOf(origin.trim()) : undefined
const surroundings: Manifest.Surroundings = {
  catalog,
  modules: Object.assign(
    {},
    ...entries
      .filter(({ name }) => name === manifest.name)
      .map(({ modules, subpath }) => Subpaths.exportsOf(subpath, modules))
  ),
  repository: url === undefined ? undefined : { url, directory: relative(root, folder) }
}

const { bundle: program } = manifest.publish ?? {}

/** Compiles each module to one of its own. */
const compile = (): void => {
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"], folder)
  for (const file of globSync("**/*.{js,d.ts}", { cwd: stage })) {
    const path = join(stage, file)
    const text = readFileSync(path, "utf8")
    const rewritten = file.endsWith(".d.ts")
      ? Manifest.declaration(text)
      : PureModules.marked(file, Subpaths.imported(file, Manifest.script(text), imported))
    if (rewritten !== text) writeFileSync(path, rewritten)
  }
}

rmSync(stage, { recursive: true, force: true })
if (program === undefined) compile()
else {
  const modules = await bundle(join(stage, program))
  // The service looks for its page beside its program.
  const ofPage = await PageBuild.build(join(stage, program, "page"))
  writeFileSync(join(stage, "LICENSES.md"), Notices.of([...modules, ...ofPage]))
}

const readAt = (path: string): string => readFileSync(join(root, path), "utf8")
if (manifest.publish?.docs === true) {
  const pages = globSync("docs/*.md", { cwd: root }).toSorted()
  mkdirSync(join(stage, "docs"), { recursive: true })
  const files = Docs.files(
    readAt("README.md"),
    pages.map((path) => ({ path, text: readAt(path) }))
  )
  for (const { path, text } of files) writeFileSync(join(stage, path), text)
}
writeFileSync(join(stage, "README.md"), Docs.readme(readFileSync(join(folder, "README.md"), "utf8")))
const others = Object.values(manifest.exports ?? {}).filter((file) => !file.endsWith(".ts"))
for (const file of others) cpSync(join(folder, file), join(stage, file))
for (const file of ["LICENSE"]) cpSync(join(root, file), join(stage, file))
if (existsSync(join(folder, "CONTRACTS.md"))) cpSync(join(folder, "CONTRACTS.md"), join(stage, "CONTRACTS.md"))
writeFileSync(join(stage, "package.json"), `${JSON.stringify(Manifest.published(manifest, surroundings), null, 2)}\n`)

const target = join(root, "dist")
mkdirSync(target, { recursive: true })
const [{ filename, size }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", target], stage))
console.log(`dist/${filename}, ${Math.ceil(size / 1024)} KiB`)
