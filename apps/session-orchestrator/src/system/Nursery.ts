/**
 * Limits the nursery of V8, the part of the heap in which objects begin.
 *
 * V8 doubles the nursery while many objects survive in it, to two halves of 64 MiB on Node 24, and keeps that size while the process
 * works. A thousand open streams do not need that. Node's option for the limit, `--max-semi-space-size`, has no effect on a heap that
 * exists, but V8 reads the factor by which the nursery grows at each growth.
 *
 * Nursery.N1. The nursery grows by doubling until each half has `HALF_BYTES`, and again after V8 has shrunk it. Collections of one task
 *     are observed after it: they can double it further.
 * Nursery.N2. An operator's own option for the size of the nursery is left alone.
 */
import { PerformanceObserver } from "node:perf_hooks"
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8"

/** A beginning stream takes at most a twentieth more CPU than with halves of 64 MiB. */
export const HALF_BYTES = 8 * 1024 * 1024

/** Limits the nursery of this process from now on. */
export const limit = (options: ReadonlyArray<string> = optionsOfNode()): void => {
  if (options.some((option) => SIZE.test(option))) return
  let factor = 2
  const adjust = (): void => {
    const next = factorAt(bytes())
    if (next === factor) return
    factor = next
    setFlagsFromString(`--semi-space-growth-factor=${factor}`)
  }
  adjust()
  new PerformanceObserver(adjust).observe({ entryTypes: ["gc"] })
}

/** The factor of the next growth of a nursery whose two halves have `total` bytes together. */
export const factorAt = (total: number): number => (total < 2 * HALF_BYTES ? 2 : 1)

/** Both halves of the nursery now. */
export const bytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0

// --- internal

/** V8 takes underscores for hyphens. */
const SIZE = /semi[-_]space/

const optionsOfNode = (): ReadonlyArray<string> => [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""]
