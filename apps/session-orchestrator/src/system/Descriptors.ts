/**
 * Reports when few file descriptors are left, so that new work is refused before the work under way fails.
 *
 * Systems give the lowest free number to each descriptor, so the number of a new one shows how many are in use.
 */
import { closeSync, openSync, readFileSync } from "node:fs"
import { devNull } from "node:os"

/** The share that new work may take. The rest is for the calls under way: each has two connections. */
const SHARE = 0.8

/** For a client that is refused. */
export const FEW_LEFT = "The service has few file descriptors left (ulimit -n). Send the request again later."

/** Whether few descriptors are left. */
export const areFew = (limit = LIMIT, next: () => number = lowestFree): boolean =>
  limit !== undefined && next() > SHARE * limit

// --- internal

const lowestFree = (): number => {
  try {
    const descriptor = openSync(devNull, "r")
    closeSync(descriptor)
    return descriptor
  } catch {
    return Infinity
  }
}

/** Of this process, on Linux; `undefined`: not known. Node raises it as far as it may before this is read. */
const limitOfProcess = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/mu.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

const LIMIT = limitOfProcess()
