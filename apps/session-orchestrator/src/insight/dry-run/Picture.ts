/**
 * Draws the courses of turns (the calls of each endpoint; waits, attempts and ends) and the schedule of a policy.
 *
 * With more turns than `MOST_ROWS` an even sample is drawn, from the first turn to the last. The rows of endpoints have all calls. A row is
 * one path for each kind of mark, and marks of one pixel are one: a night of a thousand turns stays small.
 */
import { Preview, type RetryPolicy } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import * as OutageScripts from "./OutageScripts.ts"
import * as DurationText from "../../base/text/DurationText.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Svg from "../../base/text/Svg.ts"
import type { Comparison } from "./Trial.ts"
import type { DryTurnCourse } from "./DryTurnCourse.ts"

/** The most turns that are drawn of one run. */
const MOST_ROWS = 20

/** The picture of a comparison, as SVG: by the time of day where there is a record, and since the start otherwise. */
export const svg = (title: string, { assumptions, outages, trials, was }: Comparison): string => {
  const shown = was === undefined ? trials : [was, ...trials]
  const length = Math.max(1_000, ...shown.map(({ result }) => result.endAt - result.startAt))
  const from = Math.min(...shown.map(({ result }) => result.startAt))
  return draw({
    title,
    description: (was === undefined ? OutageScripts.describe(outages) : assumptions).join(" "),
    from,
    to: from + length,
    tick: was === undefined ? DurationText.rough : (ms) => new Date(from + ms).toTimeString().slice(0, 5),
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
  return draw({
    title,
    description: `${delays.length} retries within ${DurationText.rough(whole.totalMs)} of the first failure.`,
    from: 0,
    to,
    tick: DurationText.rough,
    sections: [{ heading: "calls while an endpoint fails", rows }]
  })
}

// --- internal

const endpoints = (turns: ReadonlyArray<DryTurnCourse>): ReadonlyArray<Row> => {
  const rows = new Map<string, Array<Row["marks"][number]>>()
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

const sampled = (turns: ReadonlyArray<DryTurnCourse>): ReadonlyArray<DryTurnCourse> =>
  turns.length <= MOST_ROWS
    ? turns
    : Array.from(
        { length: MOST_ROWS },
        (_, n) => turns[Math.floor((n * (turns.length - 1)) / (MOST_ROWS - 1))]
      ).flatMap((turn) => turn ?? [])

const rowOf = ({ calls, end, turnId, waits }: DryTurnCourse): Row => ({
  label: turnId,
  spans: waits.map(({ endedAt, from }) => ({ kind: "wait", from, to: endedAt })),
  marks: [
    ...calls.flatMap(({ endedAt, outcome }) => (outcome === "answered" ? [] : [{ kind: outcome, at: endedAt }])),
    ...(end === undefined
      ? []
      : [{ kind: end.status === "completed" ? ("answered" as const) : ("ended" as const), at: end.at }])
  ]
})

const scheduleRow = (label: string, delays: ReadonlyArray<number>, ends: boolean): Row => {
  let at = 0
  const times = [0, ...delays.map((delayMs) => (at += delayMs))]
  return {
    label,
    spans: at === 0 ? [] : [{ kind: "wait", from: 0, to: at }],
    marks: times.map((at, n) => ({ kind: ends && n === times.length - 1 ? "ended" : "failed", at }))
  }
}

/** What a mark or span stands for. */
type Kind = "wait" | "failed" | "shared" | "answered" | "ended"

/** A row: spans of time, and marks at moments. Times are on the scale of the drawing. */
interface Row {
  readonly label: string
  readonly spans: ReadonlyArray<{ readonly kind: Kind; readonly from: number; readonly to: number }>
  readonly marks: ReadonlyArray<{ readonly kind: Kind; readonly at: number }>
}

/** A drawing from one moment to another. */
interface Drawing {
  readonly title: string
  /** What the picture shows, for people who do not see it. */
  readonly description: string
  readonly from: number
  readonly to: number
  /** Rows under a heading. */
  readonly sections: ReadonlyArray<{ readonly heading: string; readonly rows: ReadonlyArray<Row> }>
  /** Names a moment on the axis; `ms` is counted from `from`. */
  readonly tick: (ms: number) => string
}

/** The SVG file. */
const draw = (drawing: Drawing): string => {
  const { description, from, sections, tick, title, to } = drawing
  const scaled = Svg.scale(drawing, { left: LEFT, right: RIGHT })
  const x = (at: number): number => Math.round(scaled(at))
  const lines: Array<string> = []
  let y = TOP
  for (const { heading, rows } of sections) {
    lines.push(Svg.heading(MARGIN, y + 14, heading))
    y += HEADING
    for (const row of rows) {
      lines.push(...drawn(row, y, x))
      y += ROW
    }
    y += GAP
  }
  const bottom = y
  return Svg.document({ width: WIDTH, height: bottom + FOOT, title, description }, [
    Svg.heading(MARGIN, 20, title),
    ...legend(sections),
    ...Svg.ticks(0, to - from, MOST_TICKS).flatMap((ms) => [
      Svg.path(`M${x(from + ms)} ${TOP}V${bottom}`, "line"),
      Svg.text(x(from + ms), bottom + 16, tick(ms), { "text-anchor": "middle" })
    ]),
    ...lines
  ])
}

const WIDTH = 860
const MARGIN = 12
const LEFT = 190
const RIGHT = 840
const TOP = 50
const HEADING = 24
const ROW = 16
const GAP = 10
const FOOT = 30
const MOST_TICKS = 9

/** Columns of a row's label. */
const LABEL = 26

interface Style {
  readonly words: string
  readonly color: Svg.ShapeColor
  readonly width: number
  readonly opacity?: number
}

/** In the order in which they are drawn, and listed in the legend. */
const STYLES: { readonly [K in Kind]: Style } = {
  wait: { words: "waits", color: "idle", width: 2 },
  failed: { words: "a call fails", color: "warn", width: 2 },
  shared: { words: "a failure is shared, no call", color: "warn", width: 1, opacity: 0.8 },
  answered: { words: "is answered", color: "good", width: 4 },
  ended: { words: "fails", color: "bad", width: 4 }
}

const KINDS: ReadonlyArray<Kind> = ["wait", "failed", "shared", "answered", "ended"]

const stroke = (kind: Kind, d: string): string => {
  const { color, opacity, width } = STYLES[kind]
  return Svg.path(d, color, { "stroke-width": width, opacity })
}

const legend = (sections: Drawing["sections"]): ReadonlyArray<string> => {
  const rows = sections.flatMap(({ rows }) => rows)
  const used = KINDS.filter((kind) =>
    rows.some(({ marks, spans }) => [...marks, ...spans].some((item) => item.kind === kind))
  )
  let x = LEFT
  return used.flatMap((kind) => {
    const { words } = STYLES[kind]
    const at = x
    x += 34 + words.length * 7
    return [stroke(kind, kind === "wait" ? `M${at} 32h16` : `M${at + 8} 27v10`), Svg.text(at + 22, 36, words)]
  })
}

const drawn = ({ label, marks, spans }: Row, y: number, x: (at: number) => number): ReadonlyArray<string> => {
  const middle = y + ROW / 2
  const paths = KINDS.flatMap((kind) => {
    const lines = spans.filter((span) => span.kind === kind).map(({ from, to }) => `M${x(from)} ${middle}H${x(to)}`)
    const ticks = new Set(marks.flatMap((mark) => (mark.kind === kind ? x(mark.at) : [])))
    const parts = [...new Set(lines), ...Array.from(ticks, (at) => `M${at} ${middle - 5}v10`)]
    return parts.length === 0 ? [] : [stroke(kind, parts.join(""))]
  })
  return [Svg.text(LEFT - 8, middle + 4, Prose.clip(label, LABEL), { "text-anchor": "end" }), ...paths]
}
