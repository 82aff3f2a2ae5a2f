/** Draws the timeline of a report: outages by endpoint, waiting turns, and turns by their ends. Pure. */
import type { PeriodReport } from "@holdfast/wire"
import * as LocalTime from "../../text/LocalTime.ts"
import * as Prose from "../../text/Prose.ts"
import * as Svg from "../../text/Svg.ts"
import * as PeriodLine from "./PeriodLine.ts"

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
  const x = (at: number): number =>
    LABELS + ((Math.min(until, Math.max(since, at)) - since) / Math.max(1, until - since)) * (right - LABELS)
  const moment = LocalTime.within(report)
  const headline = Prose.wrap(report.line, HEADLINE.columns, HEADLINE.lines)
  const top = MARGIN + headline.length * 18 + 28
  const lanes = [...new Set(outages.map(({ target }) => target))].slice(0, MOST_LANES)
  const chartTop = top + lanes.length * LANE + 16
  const chartBottom = chartTop + CHART
  const height = chartBottom + 52
  const most = Math.max(1, ...timeline.waiting)
  const mostEnds = Math.max(1, ...timeline.answered.map((answered, i) => answered + (timeline.failed[i] ?? 0)))
  const part = (index: number) => ({
    x: x(since + index * timeline.partMs),
    width: x(since + timeline.partMs) - LABELS
  })
  const upTo = (share: number): number => share * (CHART / 2 - 8)
  return Svg.document({ width: WIDTH, height, title: report.line }, [
    ...headline.map((line, i) => Svg.text(MARGIN, MARGIN + 8 + i * 18, line, { "font-weight": "bold" })),
    Svg.text(
      MARGIN,
      top - 18,
      `${LocalTime.full(report.timeZone)(since)} to ${LocalTime.full(report.timeZone)(until)}, ${report.timeZone}`,
      {
        class: "muted"
      }
    ),
    ...Svg.ticks(since, until, 12).flatMap((at) => [
      Svg.element("line", { class: "line", x1: x(at), y1: top, x2: x(at), y2: chartBottom }),
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
            const width = Math.max(2, x(outage.endedAt ?? until) - from)
            return Svg.bar(
              { x: from, y: y + 3, width, height: LANE - 8 },
              "bad",
              `${target} ${PeriodLine.down(outage, moment)}`
            )
          })
      ]
    }),
    Svg.text(
      MARGIN,
      chartTop + 30,
      `waiting turns, ${most === 1 && timeline.waiting.every((n) => n === 0) ? 0 : most} at most`
    ),
    ...timeline.waiting.flatMap((waiting, i) =>
      waiting === 0
        ? []
        : [
            Svg.bar(
              { ...part(i), y: chartTop + CHART / 2 - 4 - upTo(waiting / most), height: upTo(waiting / most) },
              "wait",
              `${moment(since + i * timeline.partMs)}: ${waiting} waiting`
            )
          ]
    ),
    Svg.text(MARGIN, chartTop + CHART / 2 + 30, "turns that ended"),
    ...timeline.answered.flatMap((answered, i) => {
      const failed = timeline.failed[i] ?? 0
      const at = moment(since + i * timeline.partMs)
      const good = upTo(answered / mostEnds)
      const bad = upTo(failed / mostEnds)
      return [
        ...(answered === 0
          ? []
          : [Svg.bar({ ...part(i), y: chartBottom - good, height: good }, "good", `${at}: ${answered} answered`)]),
        ...(failed === 0
          ? []
          : [Svg.bar({ ...part(i), y: chartBottom - good - bad, height: bad }, "bad", `${at}: ${failed} failed`)])
      ]
    }),
    Svg.element("line", { class: "line", x1: LABELS, y1: chartBottom, x2: right, y2: chartBottom }),
    ...LEGEND.flatMap(([style, words], i) => [
      Svg.element("rect", { class: style, x: LABELS + i * 150, y: chartBottom + 28, width: 12, height: 12 }),
      Svg.text(LABELS + i * 150 + 18, chartBottom + 38, words, { class: "muted" })
    ])
  ])
}

// --- internal

const LEGEND = [
  ["bad", "down, or failed"],
  ["wait", "waiting"],
  ["good", "answered"]
] as const
