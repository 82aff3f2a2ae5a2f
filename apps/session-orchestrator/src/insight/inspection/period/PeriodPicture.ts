/** Draws the timeline of a report: outages by endpoint, waiting turns, and turns by their ends. Pure. */
import type { PeriodReport } from "@holdfast/wire"
import * as LocalTime from "../../../base/text/LocalTime.ts"
import * as Prose from "../../../base/text/Prose.ts"
import * as Svg from "../../../base/text/Svg.ts"
import * as Outages from "./Outages.ts"
import * as PeriodText from "./PeriodText.ts"

/** Endpoints that get a lane. */
const MOST_LANES = 12

const WIDTH = 960
const MARGIN = 24
const LABELS = 230
const LANE = 22
const CHART = 110

/** Lines of the headline; each has some hundred characters. */
const HEADLINE = { lines: 3, columns: 120 }

/** The picture as the text of an SVG file. */
export const svg = (report: PeriodReport.PeriodReport): string => {
  const { outages, since, timeline, until } = report
  const right = WIDTH - MARGIN
  const x = Svg.scale({ from: since, to: until }, { left: LABELS, right })
  const moment = LocalTime.within(report)
  const headline = Prose.wrap(report.line, HEADLINE.columns, HEADLINE.lines)
  const top = MARGIN + headline.length * 18 + 28
  const lanes = [...new Set(outages.map(({ target }) => target))].slice(0, MOST_LANES)
  const chartTop = top + lanes.length * LANE + 16
  const chartBottom = chartTop + CHART
  const height = chartBottom + 52
  const most = Math.max(0, ...timeline.waiting)
  const middle = chartTop + CHART / 2
  const mostEnds = Math.max(0, ...timeline.answered.map((answered, i) => answered + (timeline.failed[i] ?? 0)))
  const partWidth = x(since + timeline.partMs) - LABELS
  const upTo = (count: number, highest: number): number => (count === 0 ? 0 : (count / highest) * (CHART / 2 - 8))
  /** A column of the chart above its foot; none without a height. */
  const column = (part: number, foot: number, height: number, color: Svg.ShapeColor, words: string) => {
    const at = since + part * timeline.partMs
    const bar = { x: x(at), y: foot - height, width: partWidth, height }
    return height === 0 ? [] : [Svg.bar(bar, color, `${moment(at)}: ${words}`)]
  }
  return Svg.document({ width: WIDTH, height, title: report.line }, [
    ...headline.map((line, i) => Svg.heading(MARGIN, MARGIN + 8 + i * 18, line)),
    Svg.text(
      MARGIN,
      top - 18,
      `${LocalTime.full(report.timeZone)(since)} to ${LocalTime.full(report.timeZone)(until)}, ${report.timeZone}`,
      { class: "muted" }
    ),
    ...Svg.ticks(since, until, 12).flatMap((at) => [
      Svg.path(`M${Math.round(x(at))} ${top}V${chartBottom}`, "line"),
      Svg.text(x(at), chartBottom + 16, moment(at), { class: "muted", "text-anchor": "middle" })
    ]),
    ...lanes.flatMap((target, lane) => {
      const y = top + lane * LANE
      return [
        Svg.text(MARGIN, y + 14, Prose.clip(target, 30)),
        ...outages
          .filter((outage) => outage.target === target)
          .map((outage) => {
            const from = x(outage.beganAt)
            const width = Math.max(2, x(Outages.knownUntil(outage, until)) - from)
            return Svg.bar(
              { x: from, y: y + 3, width, height: LANE - 8 },
              "bad",
              `${target} ${PeriodText.down(outage, moment)}`
            )
          })
      ]
    }),
    Svg.text(MARGIN, chartTop + 30, `waiting turns, ${most} at most`),
    ...timeline.waiting.flatMap((waiting, i) =>
      column(i, middle - 4, upTo(waiting, most), "warn", `${waiting} waiting`)
    ),
    Svg.text(MARGIN, middle + 30, "turns that ended"),
    ...timeline.answered.flatMap((answered, i) => {
      const failed = timeline.failed[i] ?? 0
      const good = upTo(answered, mostEnds)
      return [
        ...column(i, chartBottom, good, "good", `${answered} answered`),
        ...column(i, chartBottom - good, upTo(failed, mostEnds), "bad", `${failed} failed`)
      ]
    }),
    Svg.path(`M${LABELS} ${chartBottom}H${right}`, "line"),
    ...LEGEND.flatMap(([color, words], i) => [
      Svg.element("rect", { class: color, x: LABELS + i * 150, y: chartBottom + 28, width: 12, height: 12 }),
      Svg.text(LABELS + i * 150 + 18, chartBottom + 38, words, { class: "muted" })
    ])
  ])
}

// --- internal

const LEGEND = [
  ["bad", "down, or failed"],
  ["warn", "waiting"],
  ["good", "answered"]
] as const
