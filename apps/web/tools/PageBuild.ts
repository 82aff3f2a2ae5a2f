/**
 * Builds the page into a folder, as the service serves it.
 *
 * PageBuild.B1. The folder is replaced as a whole once the build has succeeded, so a service that reads it never finds a part of a build.
 * PageBuild.B2. `sources.txt` in the folder has a hash of what the page was built from. A build of the same sources is not repeated.
 * PageBuild.B3. Nothing is inline, because the page's content security policy forbids that; every name but the index's has a hash of the content.
 */
import { createHash } from "node:crypto"
import { chmodSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

const app = join(import.meta.dirname, "..")
const root = join(app, "../..")

/** Where the service of a checkout finds its page. */
export const FOLDER = join(app, "dist")

/** Whether the folder has the page of the present sources. */
export const isCurrent = (folder: string = FOLDER): boolean => {
  try {
    return readFileSync(join(folder, STAMP), "utf8") === stampOf()
  } catch {
    return false
  }
}

/** Builds the page. Returns the files of its modules. */
export const build = async (folder: string = FOLDER): Promise<ReadonlyArray<string>> => {
  const { build } = await import("vite")
  const stamp = stampOf()
  const made = mkdtempSync(join(dirname(folder), ".page-"))
  const modules = new Set<string>()
  try {
    await build({
      root: app,
      configFile: false,
      logLevel: "error",
      plugins: [
        {
          name: "modules",
          generateBundle: (_, files) => {
            for (const file of Object.values(files)) {
              if (file.type === "chunk") file.moduleIds.forEach((id) => modules.add(id))
            }
          }
        }
      ],
      build: {
        outDir: made,
        emptyOutDir: true,
        target: "es2022",
        // PageBuild.B3
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false
      }
    })
    // Temporary folders are readable by their user alone.
    chmodSync(made, 0o755)
    writeFileSync(join(made, STAMP), stamp)
    rmSync(folder, { recursive: true, force: true })
    renameSync(made, folder)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  return [...modules]
}

// --- internal

const STAMP = "sources.txt"

const SOURCES = [
  "apps/web/{src,tools}/**",
  "apps/web/{index.html,package.json}",
  "packages/{client,wire}/src/**",
  "pnpm-lock.yaml"
]

const stampOf = (): string => {
  const hash = createHash("sha256")
  for (const path of globSync(SOURCES, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()) {
    hash.update(path.slice(root.length)).update(readFileSync(path))
  }
  return hash.digest("hex")
}
