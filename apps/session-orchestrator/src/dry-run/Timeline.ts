/**
 * Draws rows of marks and spans along time as an SVG file. Pure.
 *
 * Timeline.T1. A row is one path for each kind of mark, and marks of one pixel are one: a night of a thousand turns stays small.
 */
import * as Prose from "../text/Prose.ts"
import * as Svg from "../text/Svg.ts"

/** What a mark or span stands for. */
export type Kind = "wait" | "failed" | "shared" | "answered" | "ended"

/** A row: spans of time, and marks at moments. Times are on the scale of the drawing. */
export interface Row {
  readonly label: string
  readonly spans: ReadonlyArray<{ readonly kind: Kind; readonly from: number; readonly to: number }>
  readonly marks: ReadonlyArray<{ readonly kind: Kind; readonly at: number }>
}

/** Rows under a heading. */
export interface Section {
  readonly heading: string
  readonly rows: ReadonlyArray<Row>
}

/** A drawing from one moment to another. */
export interface Drawing {
  readonly title: string
  /** What the picture shows, for people who do not see it. */
  readonly description: string
  readonly from: number
  readonly to: number
  readonly sections: ReadonlyArray<Section>
  /** Names a moment on the axis; `ms` is counted from `from`. */
  readonly tick: (ms: number) => string
}

/** The SVG file. */
export const draw = (drawing: Drawing): string => {
  const { description, from, sections, tick, title, to } = drawing
  const scaled = Svg.scale(drawing, { left: LEFT, right: RIGHT })
  const x = (at: number): number => Math.round(scaled(at))
  const lines: Array<string> = []
  let y = TOP
  for (const { heading, rows } of sections) {
    lines.push(Svg.heading(MARGIN, y + 14, heading))
    y += HEADING
    for (const row of rows) {
      lines.push(...rowOf(row, y, x))
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

// --- internal

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
  readonly color: Svg.Color
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

const legend = (sections: ReadonlyArray<Section>): ReadonlyArray<string> => {
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

/** Timeline.T1 */
const rowOf = ({ label, marks, spans }: Row, y: number, x: (at: number) => number): ReadonlyArray<string> => {
  const middle = y + ROW / 2
  const drawn = KINDS.flatMap((kind) => {
    const lines = spans.filter((span) => span.kind === kind).map(({ from, to }) => `M${x(from)} ${middle}H${x(to)}`)
    const ticks = new Set(marks.flatMap((mark) => (mark.kind === kind ? x(mark.at) : [])))
    const parts = [...new Set(lines), ...Array.from(ticks, (at) => `M${at} ${middle - 5}v10`)]
    return parts.length === 0 ? [] : [stroke(kind, parts.join(""))]
  })
  return [Svg.text(LEFT - 8, middle + 4, Prose.clip(label, LABEL), { "text-anchor": "end" }), ...drawn]
}
