/**
 * Draws rows of marks and spans along time as one SVG file, readable in light and dark. Pure.
 *
 * Timeline.T1. The file has no script, no font and no address to load, and every text in it is escaped.
 * Timeline.T2. A row is one path for each kind of mark, and marks of one pixel are one: a night of a thousand turns stays small.
 */

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
  const { description, sections, title } = drawing
  const lines: Array<string> = []
  let y = TOP
  for (const { heading, rows } of sections) {
    lines.push(`  <text class="h" x="12" y="${y + 14}">${escape(heading)}</text>`)
    y += HEADING
    for (const row of rows) {
      lines.push(...rowOf(row, y, drawing))
      y += ROW
    }
    y += GAP
  }
  const bottom = y
  const height = bottom + FOOT
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="t d">`,
    `  <title id="t">${escape(title)}</title>`,
    `  <desc id="d">${escape(description)}</desc>`,
    "  <style>",
    "    text{font:12px system-ui,sans-serif;fill:#3d4653}.n{text-anchor:middle}.e{text-anchor:end}.h{font-weight:600}",
    "    path{fill:none}.a{stroke:#d5dbe3}.wait{stroke:#9aa6b6;stroke-width:2}.failed{stroke:#bc4c00;stroke-width:2}",
    "    .shared{stroke:#bc4c00;stroke-width:1;opacity:.6}.answered{stroke:#1a7f37;stroke-width:4}.ended{stroke:#82071e;stroke-width:4}",
    "    @media (prefers-color-scheme:dark){text{fill:#c3ccd8}.a{stroke:#39424e}.wait{stroke:#6b7686}.failed,.shared{stroke:#f0883e}.answered{stroke:#3fb950}.ended{stroke:#ff7b72}}",
    "  </style>",
    `  <text class="h" x="12" y="20">${escape(title)}</text>`,
    ...legend(sections),
    ...ticks(drawing).flatMap(({ at, text }) => [
      `  <path class="a" d="M${at} ${TOP}V${bottom}"/>`,
      `  <text class="n" x="${at}" y="${bottom + 16}">${escape(text)}</text>`
    ]),
    ...lines,
    "</svg>",
    ""
  ].join("\n")
}

/** Steps of an axis: the smallest of them that leaves at most `MOST_TICKS`. */
export const stepOf = (lengthMs: number): number => STEPS.find((step) => lengthMs / step <= MOST_TICKS) ?? 7 * DAY

// --- internal

const WIDTH = 860
const LEFT = 190
const RIGHT = 840
const TOP = 50
const HEADING = 24
const ROW = 16
const GAP = 10
const FOOT = 30
const MOST_TICKS = 9

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const STEPS = [
  1_000,
  5_000,
  10_000,
  30_000,
  MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  DAY,
  2 * DAY
]

const NAMES: { readonly [K in Kind]: string } = {
  wait: "waits",
  failed: "a call fails",
  shared: "a failure is shared, no call",
  answered: "is answered",
  ended: "fails"
}

const LEGEND: ReadonlyArray<Kind> = ["wait", "failed", "shared", "answered", "ended"]

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const xOf = ({ from, to }: Drawing, at: number): number =>
  Math.round(LEFT + (Math.min(Math.max(at, from), to) - from) * ((RIGHT - LEFT) / Math.max(1, to - from)))

const ticks = (drawing: Drawing): ReadonlyArray<{ readonly at: number; readonly text: string }> => {
  const { from, tick, to } = drawing
  const step = stepOf(to - from)
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, n) => ({
    at: xOf(drawing, from + n * step),
    text: tick(n * step)
  }))
}

const legend = (sections: ReadonlyArray<Section>): ReadonlyArray<string> => {
  const rows = sections.flatMap(({ rows }) => rows)
  const used = LEGEND.filter((kind) =>
    rows.some(({ marks, spans }) => [...marks, ...spans].some((item) => item.kind === kind))
  )
  let x = LEFT
  return used.map((kind) => {
    const at = x
    x += 34 + NAMES[kind].length * 7
    const sample = kind === "wait" ? `M${at} 32h16` : `M${at + 8} 27v10`
    return `  <path class="${kind}" d="${sample}"/><text x="${at + 22}" y="36">${NAMES[kind]}</text>`
  })
}

/** Timeline.T2 */
const rowOf = ({ label, marks, spans }: Row, y: number, drawing: Drawing): ReadonlyArray<string> => {
  const middle = y + ROW / 2
  const paths: Array<string> = [
    `  <text class="e" x="${LEFT - 8}" y="${middle + 4}">${escape(label.length > 26 ? `${label.slice(0, 25)}…` : label)}</text>`
  ]
  for (const kind of LEGEND) {
    const lines = spans
      .filter((span) => span.kind === kind)
      .map(({ from, to }) => `M${xOf(drawing, from)} ${middle}H${xOf(drawing, to)}`)
    const ticks = marks.filter((mark) => mark.kind === kind).map(({ at }) => `M${xOf(drawing, at)} ${middle - 5}v10`)
    const parts = Array.from(new Set([...lines, ...ticks]))
    if (parts.length > 0) paths.push(`  <path class="${kind}" d="${parts.join("")}"/>`)
  }
  return paths
}
