/**
 * The worker with its service as a few files instead of two thousand: it is up in half the time, and a night takes a twentieth less.
 *
 * It is made anew, in two seconds, where one of its sources is newer. A defect is put into the sources themselves (`Planted.ts`).
 */
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as bundleProgram from "../../tools/src/bundleProgram.ts"

const root = join(import.meta.dirname, "../..")

/** In the service's package: what is loaded by its name is found from there. */
const folder = join(bundleProgram.folder, "../nights")

/** The file that a worker runs. */
export const worker = async (): Promise<string> => {
  if (!isNew()) await bundleProgram.renew(folder, bundle)
  return join(folder, "main.js")
}

// --- internal

const SOURCES = "sources.json"

const bundle = async (target: string): Promise<void> => {
  const ring = join(import.meta.dirname, "SharedRing.ts")
  const sources = await bundleProgram.written(
    {
      input: { main: join(import.meta.dirname, "Worker.ts") },
      external: bundleProgram.EXTERNAL,
      resolve: { mainFields: ["module", "main"] },
      plugins: [
        {
          name: "ring",
          resolveId: (id, from) => (id === "../HashRing.js" && from?.endsWith("/cluster/Sharding.js") ? ring : null)
        }
      ]
    },
    { dir: target, format: "esm", cleanDir: true }
  )
  // A package of another version is another file.
  const all = [...sources, join(root, "pnpm-lock.yaml"), import.meta.filename]
  writeFileSync(join(target, SOURCES), JSON.stringify(all.filter((file) => file.startsWith(root))))
}

/** Whether it is there, and newer than all its sources. */
const isNew = (): boolean => {
  try {
    const sources = JSON.parse(readFileSync(join(folder, SOURCES), "utf8")) as ReadonlyArray<string> // as `bundle` writes it
    const { mtimeMs } = statSync(join(folder, "package.json"))
    return sources.every((file) => statSync(file).mtimeMs < mtimeMs)
  } catch {
    return false
  }
}
