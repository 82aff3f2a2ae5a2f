/** Adds nights up, and writes the sum. */
import type * as Night from "./Night.ts"
import { timeOf } from "./Timeline.ts"

/** The sum of nights; plain data, which a worker sends. */
export interface Sum {
  nights: number
  virtualMs: number
  tasks: number
  calls: number
  /** Seeds that were run twice, with the same events. */
  twice: number
  readonly faults: Record<string, number>
  readonly checks: Record<string, number>
  readonly broken: Array<{ readonly seed: number; readonly law: string; readonly what: string }>
}

export const none = (): Sum => ({
  nights: 0,
  virtualMs: 0,
  tasks: 0,
  calls: 0,
  twice: 0,
  faults: {},
  checks: {},
  broken: []
})

export const add = (sum: Sum, { broken, calls, checks, faults, plan, tasks, virtualMs }: Night.Result): void => {
  sum.nights++
  sum.virtualMs += virtualMs
  sum.tasks += tasks
  sum.calls += calls
  for (const [name, count] of faults) sum.faults[name] = (sum.faults[name] ?? 0) + count
  for (const [name, count] of checks) sum.checks[name] = (sum.checks[name] ?? 0) + count
  if (broken !== undefined) sum.broken.push({ seed: plan.seed, ...broken })
}

export const together = (sums: ReadonlyArray<Sum>): Sum => {
  const all = none()
  for (const sum of sums) {
    for (const part of ["nights", "virtualMs", "tasks", "calls", "twice"] as const) all[part] += sum[part]
    for (const part of ["faults", "checks"] as const)
      for (const [name, count] of Object.entries(sum[part])) all[part][name] = (all[part][name] ?? 0) + count
    all.broken.push(...sum.broken)
  }
  return all
}

/** A table for people. */
export const text = ({ broken, calls, checks, faults, nights, twice, virtualMs }: Sum, seconds: number): string => {
  const rows = (counts: Readonly<Record<string, number>>): ReadonlyArray<string> =>
    Object.entries(counts)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, count]) => `  ${String(count).padStart(9)}  ${name}`)
  return [
    `${nights} nights in ${seconds.toFixed(1)} s: ${Math.round((nights / seconds) * 3600)} an hour, ` +
      `${(virtualMs / 3_600_000 / seconds).toFixed(1)} virtual hours a second (${timeOf(virtualMs).slice(1)} in all), ${calls} calls.`,
    `${twice} seeds were run twice, with the same events to the byte.`,
    "Faults:",
    ...rows(faults),
    "Checks of laws:",
    ...rows(checks),
    broken.length === 0 ? "No law was broken." : `${broken.length} nights broke a law:`,
    ...broken
      .slice(0, 20)
      .map(({ law, seed, what }) => `  --seed ${seed}: ${law}: ${what.split("\n")[0]?.slice(0, 300)}`)
  ].join("\n")
}

/** A night as a line of time. */
export const story = ({ broken, digest, lines, plan }: Night.Result): string =>
  [
    `Seed ${plan.seed}, ${plan.order}; ${plan.runners === 1 ? "" : `${plan.runners} runners, `}${plan.prompts.length} turns, ${plan.commands.length} commands, ${plan.watchers.length} watchers, ${plan.callers.length} programs, ` +
      `${plan.deaths.length} ends of processes, ${plan.disk.length} commits that go wrong.`,
    `Configuration: ${plan.settings.map((settings) => JSON.stringify({ ...settings, database: undefined, providers: undefined })).join(" then ")}`,
    "",
    ...lines.map((line) => (line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)} ...` : line)),
    "",
    broken === undefined ? `No law was broken. Digest ${digest}.` : `BROKEN: ${broken.law}\n${broken.what}`
  ].join("\n")

// --- internal

const MOST_CHARACTERS = 220
