/** Prints figures of the page beside those of a bare page, and what is being done meanwhile. */
import type { Frames, Opened } from "./Frames.ts"

const beganAt = performance.now()

/** Says on the other stream what is being done. */
export const progress = (words: string): void =>
  console.error(`[${((performance.now() - beganAt) / 1_000).toFixed(0).padStart(4)} s] ${words}`)

/** The first line. */
export const head = (): void =>
  console.log(`${"".padEnd(NAME)} ${"page".padStart(14)} ${"bare".padStart(14)} ${"ratio".padStart(8)}`)

/** One line. */
export const figure = (name: string, ours: number, bare: number, unit: string): void => {
  const ratio = bare === 0 ? "" : `${(ours / bare).toFixed(2)}x`
  console.log(`${name.padEnd(NAME)} ${shown(ours, unit)} ${shown(bare, unit)} ${ratio.padStart(8)}`)
}

/** Lines of how two addresses were opened, the median of their rounds. */
export const opened = (name: string, ours: ReadonlyArray<Opened>, bare: ReadonlyArray<Opened>): void => {
  const line = (name: string, unit: string, of: (opened: Opened) => number): void =>
    figure(name, median(ours.map(of)), median(bare.map(of)), unit)
  line(`  until ${name}`, "ms", ({ shownMs }) => shownMs)
  line("    processor time until then", "ms", ({ work }) => work.ms.all)
  line("    longest task, processor time", "ms", ({ work }) => work.longestTaskMs)
}

/**
 * A line for each figure of two recordings, the median of their rounds.
 *
 * @param per what the work is counted by: a scroll has so many frames, however long they take; other things have a pace of their own
 */
export const frames = (ours: ReadonlyArray<Frames>, bare: ReadonlyArray<Frames>, per: "s" | "frame"): void => {
  const share = ({ count, seconds }: Frames): number => (per === "s" ? seconds : count)
  const line = (name: string, unit: string, of: (frames: Frames) => number): void =>
    figure(name, median(ours.map(of)), median(bare.map(of)), unit)
  line("  longest distance of two frames", "ms", ({ longestMs }) => longestMs)
  line("  distances above 50 ms", "", ({ above50 }) => above50)
  line("  tasks above 50 ms, by the clock", "", ({ work }) => work.tasksAbove50ByClock)
  line("  tasks above 50 ms, processor time", "", ({ work }) => work.tasksAbove50)
  line("  longest task, processor time", "ms", ({ work }) => work.longestTaskMs)
  line("  main thread, processor time", `ms/${per}`, (recorded) => recorded.work.ms.all / share(recorded))
  for (const kind of ["script", "layout", "paint"] as const)
    line(`    of it ${kind}`, `ms/${per}`, (recorded) => recorded.work.ms[kind] / share(recorded))
}

/** The middle one. */
export const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

// --- internal

const NAME = 58

const shown = (value: number, unit: string): string => {
  const digits = unit === "" || value >= 10 ? 0 : value >= 1 ? 1 : 2
  return `${value.toFixed(digits)} ${unit}`.padStart(14)
}
