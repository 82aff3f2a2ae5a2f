/** The waits of policies as lanes of one line of time. Pure. */
import { Count } from "@holdfast/wire"
import type { SchedulePreview } from "@holdfast/wire/api"
import * as Moments from "../text/Moments.ts"

/** One lane: the calls after a first failure, in milliseconds after it. */
interface Lane {
  readonly label: string
  readonly calls: ReadonlyArray<Call>
  /** Why the turn fails behind the last call; absent: it goes on. */
  readonly because?: string | undefined
}

/** A call of a lane. */
export interface Call {
  readonly atMs: number
  /** The target, where it is another one than that of the call before. */
  readonly switchedTo?: string | undefined
}

/** A lane of the schedule, and one for each kind of failure that is treated in its own way. */
export const of = (name: string, preview: SchedulePreview.SchedulePreview): ReadonlyArray<Lane> => [
  {
    label: name,
    calls: [{ atMs: 0 }, ...preview.rows.map(({ atMs }) => ({ atMs }))],
    ...(preview.isWhole ? { because: preview.conclusion } : {})
  },
  ...preview.kinds.map(({ because, kinds, steps }): Lane => {
    let atMs = 0
    let target = preview.model
    const calls = steps.map((step): Call => {
      atMs += step.delayMs
      const switchedTo = step.target === target ? undefined : step.target
      target = step.target
      return { atMs, switchedTo }
    })
    return { label: `${name}: ${kinds.join(", ")}`, calls: [{ atMs: 0 }, ...calls], because }
  })
]

/** The length of time that shows all calls of all lanes. */
export const lengthOf = (lanes: ReadonlyArray<Lane>): number =>
  Math.max(1_000, ...lanes.map(({ calls }) => calls.at(-1)?.atMs ?? 0))

/** The words of a lane, for people who do not see it. */
export const wordsOf = ({ because, calls, label }: Lane): string => {
  const retries = calls.length - 1
  const switches = new Set(calls.flatMap(({ switchedTo }) => switchedTo ?? []))
  return [
    `${label}: ${Count.of(retries, "retry", "retries")} within ${Moments.duration(calls.at(-1)?.atMs ?? 0)}`,
    ...(switches.size === 0 ? [] : [`over ${[...switches].join(", ")}`]),
    ...(because === undefined ? ["and so on"] : ["then the turn fails"])
  ].join(", ")
}

/** Marks of the axis at round times, at most seven. */
export const ticksOf = (lengthMs: number): ReadonlyArray<number> => {
  const step = STEPS.find((step) => lengthMs / step <= MOST_TICKS) ?? Math.ceil(lengthMs / MOST_TICKS / DAY) * DAY
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, n) => n * step)
}

// --- internal

const MOST_TICKS = 6
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  ...[1, 2, 5, 10, 30].map((n) => n * 1_000),
  ...[1, 2, 5, 10, 30].map((n) => n * MINUTE),
  ...[1, 2, 4, 12].map((n) => n * HOUR),
  DAY
]
