/** Mounts a file system so small that a test can fill it. */
import { Effect, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

export interface SmallDisk {
  readonly directory: string
  /** Takes all the space that is left. */
  readonly fill: Effect.Effect<void>
  /** Frees it. */
  readonly free: Effect.Effect<void>
  /** Forbids or allows writing. Only while no file there is open for writing. */
  readonly setReadOnly: (isReadOnly: boolean) => Effect.Effect<void>
}

/** Whether it can be mounted: only root, on Linux, may mount a file system in memory. */
export const isPossible = (): boolean => {
  try {
    unmount(mount())
    return true
  } catch {
    return false
  }
}

/** Mounts one for the scope. */
export const make: Effect.Effect<SmallDisk, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mount()),
  (directory) => Effect.sync(() => unmount(directory))
).pipe(
  Effect.map((directory) => {
    const filler = path.join(directory, "filler")
    return {
      directory,
      fill: Effect.sync(() => fill(filler)),
      free: Effect.sync(() => fs.rmSync(filler)),
      setReadOnly: (isReadOnly) =>
        Effect.sync(() => {
          execFileSync("mount", ["-o", `remount,${isReadOnly ? "ro" : "rw"}`, directory], { stdio: "ignore" })
        })
    }
  })
)

// --- internal

/** Room for a database, its log and an answer or two. */
const SIZE = "2m"

/** The page of a file system in memory: if one more page does not fit, nothing fits. */
const PAGE = Buffer.alloc(4096)

const mount = (): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-disk-"))
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", directory], { stdio: "ignore" })
    return directory
  } catch (error) {
    fs.rmdirSync(directory)
    throw error
  }
}

const unmount = (directory: string): void => {
  // Lazily: a process that was just killed may still have its files open.
  execFileSync("umount", ["-l", directory], { stdio: "ignore" })
  fs.rmdirSync(directory)
}

const fill = (filler: string): void => {
  const file = fs.openSync(filler, "w")
  try {
    while (fs.writeSync(file, PAGE) > 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error
  } finally {
    fs.closeSync(file)
  }
}
