/** Reports when few file descriptors are left, so that new work is refused before the work under way fails. */
import { Option } from "effect"
import { closeSync, openSync, readdirSync, readFileSync, statSync } from "node:fs"
import { devNull } from "node:os"

/** The share that new work may take. The rest is for the calls under way: each has two connections. */
const SHARE = 0.8

/** For a client that is refused. */
export const FEW_LEFT = "The service has few file descriptors left (ulimit -n). Send the request again later."

/** Whether few descriptors are left. */
export const areFew = (limit = LIMIT, inUse: () => number = ofProcess): boolean =>
  !Number.isNaN(limit) && inUse() > SHARE * limit

/** The folder that has an entry for each descriptor in use. */
interface Folder {
  /** The number of its entries; 0: unknown (Linux before 6.2). */
  readonly size: () => number
  /** The same, by reading all of it. */
  readonly count: () => number
}

/** The descriptors in use, counted now and then: a count takes 0.1 ms, and 50 ms where 10,000 entries are read. `now` is in milliseconds. */
export const counting = ({ count, size }: Folder, now: () => number): (() => number) => {
  let known = 0
  let until = -Infinity
  return () => {
    if (now() < until) return known
    try {
      const entries = size()
      known = entries > 0 ? entries : count()
      until = now() + (entries > 0 ? EVERY_MS : EVERY_READ_MS)
      return known
    } catch {
      return lowestFree()
    }
  }
}

/** The descriptors that this process has in use. `now` is in milliseconds. */
export const countingOwn = (now: () => number): (() => number) =>
  counting({ size: () => statSync(IN_USE).size, count: () => readdirSync(IN_USE).length }, now)

// --- internal

/** In it a service accepts fewer connections than the share leaves. */
const EVERY_MS = 100
const EVERY_READ_MS = 1_000

const IN_USE = "/proc/self/fd"

const ofProcess = countingOwn(() => performance.now())

/** Systems give the lowest free number to each descriptor: there are at least so many. Infinity: none is left. */
const lowestFree = (): number => {
  try {
    const descriptor = openSync(devNull, "r")
    closeSync(descriptor)
    return descriptor
  } catch {
    return Infinity
  }
}

const limits = Option.liftThrowable(() => readFileSync("/proc/self/limits", "utf8"))

/** Of this process, on Linux; no number elsewhere. Node raises it as far as it may before this is read. */
const LIMIT = Number(/^Max open files\s+(\d+)/mu.exec(Option.getOrElse(limits(), () => ""))?.[1])
