/**
 * Finds the built files of the page (`apps/web`): beside the bundle of the service, or in the checkout.
 *
 * PageFiles.F1. A build replaces its folder as a whole, and every name but the index's has a hash of the content. So a file that was read is never
 *     read again, and the index is read again when it has changed.
 * PageFiles.F2. A name of a file comes from a request: only plain names are looked for.
 */
import { readFile, stat } from "node:fs/promises"
import { extname, join } from "node:path"
import * as StaticFile from "../body/StaticFile.ts"

/** Whether this process runs the sources of a checkout. */
export const isCheckout = import.meta.filename.endsWith(".ts")

/** The page's sources in a checkout. */
export const SOURCES = join(import.meta.dirname, "../../../../web")

/** The folder of the built page of this process. */
export const FOLDER = isCheckout ? join(SOURCES, "dist") : join(import.meta.dirname, "page")

/** Reads the page of one folder. */
export interface PageFiles {
  /** The index; `undefined` while there is none. */
  readonly index: () => Promise<StaticFile.StaticFile | undefined>
  /** A file of `assets/`; `undefined` for an unknown name. */
  readonly asset: (name: string) => Promise<StaticFile.StaticFile | undefined>
}

/** Reads the page of a folder. */
export const make = (folder: string): PageFiles => {
  const assets = new Map<string, StaticFile.StaticFile>()
  let index: { readonly changedAt: number; readonly file: StaticFile.StaticFile } | undefined = undefined
  return {
    index: async () => {
      const path = join(folder, "index.html")
      try {
        const { mtimeMs } = await stat(path)
        if (index?.changedAt !== mtimeMs) {
          index = { changedAt: mtimeMs, file: await StaticFile.make(await readFile(path), "text/html; charset=utf-8") }
        }
        return index.file
      } catch (error) {
        return absent(error)
      }
    },
    asset: async (name) => {
      const contentType = CONTENT_TYPES[extname(name)]
      if (!PLAIN_NAME.test(name) || contentType === undefined) return undefined
      const known = assets.get(name)
      if (known !== undefined) return known
      try {
        const file = await StaticFile.make(await readFile(join(folder, "assets", name)), contentType)
        assets.set(name, file)
        return file
      } catch (error) {
        return absent(error)
      }
    }
  }
}

// --- internal

/** PageFiles.F2 */
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
