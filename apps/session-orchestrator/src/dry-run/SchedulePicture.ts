/** Draws the schedule of a policy: its retries and waits, and those of each kind of failure that is treated in its own way. */
import { Preview, type RetryPolicy } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import * as Picture from "./Picture.ts"
import * as Timeline from "./Timeline.ts"

/** The picture of at most `most` retries, as SVG. Time counts from the first failure. */
export const svg = (title: string, policy: RetryPolicy.RetryPolicy, primary: Target.Target, most: number): string => {
  const whole = Preview.rows(policy, most)
  const delays = whole.rows.map(({ delayMs }) => delayMs)
  const rows = [rowOf("each failure", delays, whole.because !== undefined)]
  const outlooks = Preview.byKind(policy, primary, most)
  // One outlook means that all kinds are treated alike.
  if (outlooks.length > 1)
    rows.push(
      ...outlooks.map(({ because, kinds, steps }) =>
        rowOf(
          kinds.join(", "),
          steps.map(({ delayMs }) => delayMs),
          because !== undefined
        )
      )
    )
  const to = Math.max(1_000, ...rows.flatMap(({ marks }) => marks.map(({ at }) => at)))
  return Timeline.draw({
    title,
    description: `${delays.length} retries within ${Picture.elapsed(whole.totalMs)} of the first failure.`,
    from: 0,
    to,
    tick: Picture.elapsed,
    sections: [{ heading: "calls while an endpoint fails", rows }]
  })
}

// --- internal

const rowOf = (label: string, delays: ReadonlyArray<number>, ends: boolean): Timeline.Row => {
  let at = 0
  const times = [0, ...delays.map((delayMs) => (at += delayMs))]
  return {
    label,
    spans: at === 0 ? [] : [{ kind: "wait", from: 0, to: at }],
    marks: times.map((at, n) => ({ kind: ends && n === times.length - 1 ? "ended" : "failed", at }))
  }
}
