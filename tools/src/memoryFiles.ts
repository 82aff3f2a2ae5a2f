/**
 * Gives tests a temporary folder in memory, where Linux has room for one: a write to a database there waits for no disk.
 *
 * No test of this repository ends the machine, so none sees whether a disk has what was synced; `kill -9` loses nothing of either.
 */
import { mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { join } from "node:path"

const MEMORY = "/dev/shm"
const PREFIX = "holdfast-tests-"

/** Several times what the tests have at once. */
const ROOM = 6 * 2 ** 30

/** For `globalSetup` of vitest, before a worker starts. Returns what deletes the folder. */
export const setup = (): (() => void) | undefined => {
  if (process.env["TMPDIR"] !== undefined || !hasRoom()) return undefined
  removeLeft()
  const folder = join(MEMORY, `${PREFIX}${process.pid}`)
  mkdirSync(folder)
  process.env["TMPDIR"] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

// --- internal

const hasRoom = (): boolean => {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM
  } catch {
    return false
  }
}

/** Folders of runs that were killed. */
const removeLeft = (): void => {
  for (const name of readdirSync(MEMORY)) {
    if (!name.startsWith(PREFIX) || isRunning(Number(name.slice(PREFIX.length)))) continue
    try {
      rmSync(join(MEMORY, name), { recursive: true, force: true })
    } catch {
      // A small disk of a test is still mounted in it. Its two megabytes stay, and no run fails for them.
    }
  }
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}
