/**
 * The program of the service as a few files instead of some two thousand: a process that runs them is up in a third of the time.
 *
 * The published server is this bundle. `vitest` calls `setup` before the tests that start processes, so they run a bundle of the present sources;
 * `bin/holdfast serve` makes one beside that where a source is newer.
 */
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { join, relative } from "node:path"
import type { InputOptions, OutputOptions } from "rolldown"
import type { TestProject } from "vitest/node"
import * as Manifest from "./pack/Manifest.ts"

const root = join(import.meta.dirname, "../..")
const sources = join(root, "apps/session-orchestrator/src")

/** Where the bundle is, of which the mutation runner has its own; a package that is loaded by its name is found from here too. */
export const folder =
  process.env["HOLDFAST_PROGRAM"] ?? join(root, "apps/session-orchestrator/node_modules/.cache/program")

/** Threads are files of their own: the program names them. */
const threads = {
  CallThread: join(sources, "gateway/CallThread.ts"),
  IntegrityThread: join(sources, "storage/sqlite/IntegrityThread.ts"),
  CheckpointThread: join(root, "packages/journal/src/sqlite/CheckpointThread.ts")
}

/** Loaded by their names, as they are needed: `ajv` in two editions that share code. Ink has tools for developers, which are not there. */
const EXTERNAL = [/^ajv(\/|$)/, "react-devtools-core"]

/** Loaded by its name too, and at once, so it is a file of its own, and of CommonJS: its tables are for the first text that is counted. */
const ENCODING = "gpt-tokenizer/encoding/o200k_base"
const ENCODING_FILE = "o200k_base.cjs"

/** What the mutation runner changes of a bundle: sources, and what each file begins with. */
export interface Changed {
  readonly load: (path: string) => string | undefined
  readonly banner: string
}

/** Writes the bundle into `folder`, or into another one. Fails where a source does not compile. Returns the files of its modules. */
export const bundle = async (target: string = folder, changed?: Changed): Promise<ReadonlyArray<string>> => {
  const program = await written(
    {
      input: { main: join(sources, "main.ts"), ...threads },
      external: EXTERNAL,
      resolve: { mainFields: ["module", "main"] },
      plugins: [
        {
          name: "changed",
          load: (id) => {
            const code = changed?.load(relative(root, id))
            return code === undefined ? null : { code, moduleType: "ts" }
          }
        },
        {
          name: "threads",
          transform: { filter: { code: "Thread.ts" }, handler: (code) => ({ code: Manifest.script(code) }) }
        },
        {
          name: "encoding",
          transform: {
            filter: { code: `createRequire(import.meta.url)("${ENCODING}")` },
            handler: (code) => ({ code: code.replace(`("${ENCODING}")`, `("./${ENCODING_FILE}")`) })
          }
        }
      ],
      // React has a version for developers, many times as slow.
      transform: { define: { "process.env.NODE_ENV": '"production"' } }
    },
    { dir: target, format: "esm", cleanDir: true, banner: changed?.banner ?? "" }
  )
  const encoding = await written(
    { input: createRequire(join(sources, "main.ts")).resolve(ENCODING) },
    { file: join(target, ENCODING_FILE), format: "cjs" }
  )
  return [...program, ...encoding]
}

/** For `globalSetup` of vitest. Unit tests start no process. */
export const setup = async ({ vitest }: TestProject): Promise<void> => {
  if (!vitest.projects.some(({ name }) => name !== "unit")) return
  await renew(folder)
}

const written = async (input: InputOptions, output: OutputOptions): Promise<ReadonlyArray<string>> => {
  const { rolldown } = await import("rolldown")
  const bundled = await rolldown({ platform: "node", logLevel: "silent", ...input })
  const { output: files } = await bundled.write({ sourcemap: false, ...output })
  await bundled.close()
  return files.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []))
}

/** Makes a bundle anew, while processes run the former one or start from it. */
const renew = async (folder: string): Promise<void> => {
  const fresh = `${folder}.${process.pid}`
  const begun = new Date()
  try {
    await bundle(fresh)
    // No package has the folder: without this file Node compiles each module once more, to see whether it is CommonJS.
    await writeFile(join(fresh, MANIFEST), '{"type":"module"}')
    // A source that was changed meanwhile is newer.
    await utimes(join(fresh, MANIFEST), begun, begun)
    await replace(folder, fresh)
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Old files are kept for an hour: a process of another run may load one of them late. */
const KEPT_MS = 3_600_000

/** Moves the files of a bundle over those of another, one by one: another run in this checkout may be starting processes from there. */
const replace = async (target: string, fresh: string): Promise<void> => {
  await mkdir(target, { recursive: true })
  const files = await readdir(fresh)
  // What the entry imports is there before it, and all of it before the file whose time is the age of the bundle.
  for (const file of files.toSorted((a, b) => LAST.indexOf(a) - LAST.indexOf(b))) {
    await rename(join(fresh, file), join(target, file))
  }
  const now = Date.now()
  for (const file of await readdir(target)) {
    if (files.includes(file)) continue
    const { mtimeMs } = await stat(join(target, file))
    if (now - mtimeMs > KEPT_MS) await rm(join(target, file), { force: true })
  }
}

const MANIFEST = "package.json"
const LAST = ["main.js", MANIFEST]

if (process.argv[1] === import.meta.filename) {
  const [, , target = folder] = process.argv
  await renew(target)
  console.log(`${join(target, "main.js")} is written.`)
}
