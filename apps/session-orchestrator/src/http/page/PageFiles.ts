/**
 * Finds the built files of the page (`apps/web`): beside the bundle of the service, or in the checkout, where it builds them.
 *
 * A build replaces its folder as a whole, and every name but the index's has a hash of the content. So a file that was read is never read
 * again, and the index is read again when it has changed. A name of a file comes from a request: only plain names are looked for.
 */
import { readFile, stat } from "node:fs/promises"
import { extname, join } from "node:path"
import * as StaticFile from "../body/StaticFile.ts"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"

/** Whether this process runs a checkout: its sources, or the bundle of them that `bin/holdfast` has made. */
export const isCheckout = /\.ts$|node_modules.\.cache.start.[^/\\]+$/.test(import.meta.filename)

/** The page's sources in a checkout. The folder of the bundle is as deep as this one. */
export const SOURCES = join(import.meta.dirname, "../../../../web")

/** The folder of the built page of this process. */
export const FOLDER = isCheckout ? join(SOURCES, "dist") : join(import.meta.dirname, "page")

/** Reads the page of one folder. */
export type PageFiles = ReturnType<typeof make>

/** Reads the page of a folder. */
export const make = (folder: string) => {
  const files = new Map<string, { readonly changedAt: number; readonly file: StaticFile.StaticFile }>()
  const read = async (path: string, contentType: string): Promise<StaticFile.StaticFile | undefined> => {
    try {
      const { mtimeMs } = await stat(path)
      const known = files.get(path)
      if (known?.changedAt === mtimeMs) return known.file
      const file = await StaticFile.make(await readFile(path), contentType)
      files.set(path, { changedAt: mtimeMs, file })
      return file
    } catch (error) {
      return absent(error)
    }
  }
  return {
    /** The index; `undefined` while there is none. */
    index: () => read(join(folder, "index.html"), "text/html; charset=utf-8"),
    /** A file of `assets/`; `undefined` for an unknown name. */
    asset: async (name: string) => {
      const contentType = CONTENT_TYPES[extname(name)]
      if (!PLAIN_NAME.test(name) || contentType === undefined) return undefined
      const path = join(folder, "assets", name)
      return files.get(path)?.file ?? read(path, contentType)
    }
  }
}

/**
 * Builds the page beside the running service, if this process runs a checkout; ends when the build has ended. A failure is logged.
 *
 * The build is a process of its own with a low priority, so it delays no turn. It builds nothing where the built page is that of the present sources.
 */
export const build: Effect.Effect<void> = Effect.suspend(() => {
  const program = join(SOURCES, "tools/build.ts")
  if (!isCheckout || !existsSync(program)) return Effect.void
  return built(program).pipe(
    Effect.flatMap((failure) =>
      failure === undefined
        ? Effect.void
        : Effect.annotateLogs(
            Effect.logWarning(
              "The page at / could not be built; everything else runs. `node apps/web/tools/build.ts` repeats the build."
            ),
            { failure }
          )
    )
  )
})

// --- internal

const PLAIN_NAME = /^[\w-]+(?:\.[\w-]+)+$/

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml"
}

/** A missing file is no error: the page is being built, or the browser has an older index. */
const absent = (error: unknown): undefined => {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
  throw error
}

/** Runs the build; returns what it printed where it failed. */
const built = (program: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume, signal) => {
    execFile(process.execPath, [program, "--in-background"], { signal }, (error, stdout, stderr) =>
      resume(Effect.succeed(error === null ? undefined : `${stdout}${stderr}`.trim() || error.message))
    )
  })
