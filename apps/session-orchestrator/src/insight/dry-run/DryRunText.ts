/** Writes the accounts of dry runs as a table, a column for each configuration, and what a replay changed. Pure, but for the time zone. */
import { Count, defined, DryRunFigures } from "@holdfast/wire"
import * as PeriodText from "../inspection/period/PeriodText.ts"
import * as Document from "../../base/text/Document.ts"
import * as DurationText from "../../base/text/DurationText.ts"
import type * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import type { Followed } from "./ReplayedTurn.ts"
import * as OutageScripts from "./OutageScripts.ts"
import type { Comparison, Trial } from "./Trial.ts"
import type { DryTurnCourse } from "./DryTurnCourse.ts"

/** A comparison: its turns in `title`, a column for each configuration, what a replay changed, and what was assumed. */
export const lines = (
  title: string,
  { assumptions, outages, trials, was }: Comparison,
  moment: LocalTime.Format
): ReadonlyArray<string> => [
  title,
  ...OutageScripts.describe(outages),
  ...trials.flatMap(({ followed = [], name }) => (followed.length === 0 ? [] : [followedIn(name, followed)])),
  "",
  ...table(was === undefined ? trials : [was, ...trials]),
  ...(was === undefined ? [] : trials.flatMap((trial) => changes(was, trial, moment))),
  "",
  "Assumed:",
  ...assumptions.map((assumption) => `- ${assumption}`)
]

/** The turns whose end differs, as they were and as they would be. */
export const changed = (was: Trial, would: Trial): ReadonlyArray<readonly [DryTurnCourse, DryTurnCourse]> =>
  was.result.turns.flatMap((before, n) => {
    const after = would.result.turns[n]
    return after === undefined || isSameEnd(before, after) ? [] : [[before, after] as const]
  })

// --- internal

/** The table, without its head where there is only one column. */
const table = (columns: ReadonlyArray<Trial>): ReadonlyArray<string> => {
  const reports = columns.map(({ report }) => report)
  const head = columns.length > 1 ? [["", ...columns.map(({ name }) => name)]] : []
  const rows = DryRunFigures.rowsOf(reports, NOTATION).map(({ name, values }) => [
    name,
    ...values.map((value) => value ?? "-")
  ])
  const cut = DryRunFigures.cutOf(reports)
  return [
    ...Document.aligned([...head, ...rows]),
    ...Document.lines(failures(columns)),
    ...(cut === undefined ? [] : ["", cut])
  ]
}

/** How many turns followed their record, and how many decisions were made again alike. */
const followedIn = (name: string, turns: ReadonlyArray<Followed>): string => {
  const whole = turns.filter(({ leftAt }) => leftAt === undefined).length
  const decisions = turns.reduce((sum, { decisions }) => sum + decisions, 0)
  const follow = turns.length === 1 ? "follows its record" : "follow their record"
  const again = decisions === 1 ? "was made again as it is on record" : "were made again as they are on record"
  return `${name}: ${whole} of ${Count.of(turns.length, "turn")} ${follow} to the end; ${Count.of(decisions, "decision")} ${again}.`
}

/** The turns whose end differs, in words, at most `MOST_ROWS` of them. */
const changes = (was: Trial, would: Trial, moment: LocalTime.Format): ReadonlyArray<string> => {
  const pairs = changed(was, would)
  if (pairs.length === 0) return ["", `By ${would.name} every turn ends as it did, at the same time.`]
  const shown = pairs.slice(0, MOST_ROWS)
  const more = pairs.length - shown.length
  return Document.lines([
    {
      title: `By ${would.name} ${Count.of(pairs.length, "turn")} ${pairs.length === 1 ? "ends" : "end"} otherwise:`,
      rows: [
        ["turn", "as it was", "would be"],
        ...shown.map(([before, after]) => [before.turnId, endOf(before, moment), endOf(after, moment)])
      ],
      notes: more > 0 ? [{ text: `and ${more} more; --json has all` }] : []
    }
  ])
}

const NOTATION: DryRunFigures.Notation = {
  duration: (ms) => DurationText.format(ms < 60_000 ? ms : Math.round(ms / 1000) * 1000),
  money: PeriodText.money
}

const failures = (columns: ReadonlyArray<Trial>): ReadonlyArray<Document.Section> =>
  columns
    .filter(({ report }) => report.failures.length > 0)
    .map(({ name, report }) => ({
      title: `Failed${columns.length > 1 ? `, ${name}` : ""}:`,
      notes: report.failures.map((failure) => ({
        text: `${Count.format(failure.turns)} because ${DryRunFigures.because(failure)}`
      }))
    }))

const MOST_ROWS = 20

const isSameEnd = ({ end: a }: DryTurnCourse, { end: b }: DryTurnCourse): boolean =>
  a?.status === b?.status && a?.at === b?.at

const endOf = ({ calls, end }: DryTurnCourse, moment: LocalTime.Format): string => {
  const made = calls.filter(({ outcome }) => outcome !== "shared").length
  const after = Count.of(made, "call")
  if (end === undefined) return `still waiting, ${after}`
  const how = end.status === "completed" ? "answered" : end.status
  const why =
    end.status === "failed" && end.because !== undefined
      ? `, ${DryRunFigures.because({ because: end.because, ...defined({ reason: end.reason }) })}`
      : ""
  return Prose.oneLine(`${how} ${moment(end.at)}, ${after}${why}`)
}
