/**
 * Draws the courses of turns (the calls of each endpoint; waits, attempts and ends) and the schedule of a policy.
 *
 * Picture.P1. With more turns than `MOST_ROWS` an even sample is drawn, from the first turn to the last. The rows of endpoints have all calls.
 */
import { Preview, type RetryPolicy } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import type { Result } from "./DryRun.ts"
import * as Timeline from "./Timeline.ts"
import type { TurnCourse } from "./TurnCourse.ts"

/** A run and its name. */
export interface Shown {
  readonly name: string
  readonly result: Pick<Result, "startAt" | "endAt" | "turns">
}

/** The most turns that are drawn of one run. */
const MOST_ROWS = 20

/** The picture, as SVG. `tick` names a moment of the axis. */
export const svg = (
  title: string,
  description: string,
  shown: ReadonlyArray<Shown>,
  tick: Timeline.Drawing["tick"]
): string => {
  const length = Math.max(1_000, ...shown.map(({ result }) => result.endAt - result.startAt))
  const from = Math.min(...shown.map(({ result }) => result.startAt))
  return Timeline.draw({
    title,
    description,
    from,
    to: from + length,
    tick,
    sections: shown.map(({ name, result: { turns } }) => ({
      heading: name,
      rows: [...endpoints(turns), ...sampled(turns).map(rowOf)]
    }))
  })
}

/** The picture of at most `most` retries, as SVG. Time counts from the first failure. */
export const ofSchedule = (
  title: string,
  policy: RetryPolicy.RetryPolicy,
  primary: Target.Target,
  most: number
): string => {
  const whole = Preview.rows(policy, most)
  const delays = whole.rows.map(({ delayMs }) => delayMs)
  const rows = [scheduleRow("each failure", delays, whole.because !== undefined)]
  const outlooks = Preview.byKind(policy, primary, most)
  // One outlook means that all kinds are treated alike.
  if (outlooks.length > 1)
    rows.push(
      ...outlooks.map(({ because, kinds, steps }) =>
        scheduleRow(
          kinds.join(", "),
          steps.map(({ delayMs }) => delayMs),
          because !== undefined
        )
      )
    )
  const to = Math.max(1_000, ...rows.flatMap(({ marks }) => marks.map(({ at }) => at)))
  return Timeline.draw({
    title,
    description: `${delays.length} retries within ${elapsed(whole.totalMs)} of the first failure.`,
    from: 0,
    to,
    tick: elapsed,
    sections: [{ heading: "calls while an endpoint fails", rows }]
  })
}

/** The time since the start, for an axis: `1 h`, `1:30`, `10 min`, `30 s`. */
export const elapsed = (ms: number): string => {
  const seconds = Math.round(ms / 1000)
  if (seconds === 0) return "0"
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (seconds % 60 === 0 && minutes < 60) return `${minutes} min`
  const two = (n: number) => String(n).padStart(2, "0")
  return minutes < 60 ? `${minutes}:${two(seconds % 60)} min` : `${Math.floor(minutes / 60)}:${two(minutes % 60)} h`
}

// --- internal

const endpoints = (turns: ReadonlyArray<TurnCourse>): ReadonlyArray<Timeline.Row> => {
  const rows = new Map<string, Array<Timeline.Row["marks"][number]>>()
  for (const { calls } of turns) {
    for (const { endedAt, outcome, target } of calls) {
      if (outcome === "shared") continue
      const marks = rows.get(target) ?? []
      rows.set(target, marks)
      marks.push({ kind: outcome, at: endedAt })
    }
  }
  // With one turn the row of the endpoint would be the row of the turn.
  return turns.length === 1 ? [] : Array.from(rows, ([label, marks]) => ({ label, spans: [], marks }))
}

/** Picture.P1 */
const sampled = (turns: ReadonlyArray<TurnCourse>): ReadonlyArray<TurnCourse> =>
  turns.length <= MOST_ROWS
    ? turns
    : Array.from(
        { length: MOST_ROWS },
        (_, n) => turns[Math.floor((n * (turns.length - 1)) / (MOST_ROWS - 1))]
      ).flatMap((turn) => turn ?? [])

const rowOf = ({ calls, end, turnId, waits }: TurnCourse): Timeline.Row => ({
  label: turnId,
  spans: waits.map(({ endedAt, from }) => ({ kind: "wait", from, to: endedAt })),
  marks: [
    ...calls.flatMap(({ endedAt, outcome }) => (outcome === "answered" ? [] : [{ kind: outcome, at: endedAt }])),
    ...(end === undefined
      ? []
      : [{ kind: end.status === "completed" ? ("answered" as const) : ("ended" as const), at: end.at }])
  ]
})

const scheduleRow = (label: string, delays: ReadonlyArray<number>, ends: boolean): Timeline.Row => {
  let at = 0
  const times = [0, ...delays.map((delayMs) => (at += delayMs))]
  return {
    label,
    spans: at === 0 ? [] : [{ kind: "wait", from: 0, to: at }],
    marks: times.map((at, n) => ({ kind: ends && n === times.length - 1 ? "ended" : "failed", at }))
  }
}
