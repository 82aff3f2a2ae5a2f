/** Writes a report of a period as one line, for a terminal, and as Markdown. Pure. */
import { Count, type PeriodReport } from "@holdfast/wire"
import * as Document from "../../text/Document.ts"
import * as DurationText from "../../text/DurationText.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as Prose from "../../text/Prose.ts"
import * as Outages from "./Outages.ts"

/** Entries of a section that are written; the JSON has all. */
const MOST = 20

/** Characters of an error's message. */
const MESSAGE = 160

/** Outages that the line names, the longest; the others are counted. */
const MOST_OUTAGES = 3

/** The line: turns by their ends, how long turns waited, and the endpoints that were down. */
export const line = ({
  outages,
  questions = [],
  since,
  timeZone,
  turns,
  until,
  waitedMs
}: Pick<
  PeriodReport.PeriodReport,
  "outages" | "questions" | "since" | "timeZone" | "turns" | "until" | "waitedMs"
>): string => {
  const { aborted, answered, failed, queued, retried, running, waiting } = turns
  const open = waiting + running + queued
  const ends = [
    `${answered} answered`,
    `${failed} failed${retried === 0 ? "" : ` (${retried} retried since)`}`,
    ...(aborted === 0 ? [] : [`${aborted} aborted`]),
    ...(open === 0 ? [] : [`${open} not ended`]),
    ...(questions.length === 0 ? [] : [`${questions.length} waiting for a person`]),
    ...(waitedMs === 0 ? [] : [`waited ${DurationText.rough(waitedMs)}`])
  ].join(", ")
  const moment = LocalTime.within({ since, until, timeZone })
  const downs = Outages.longest(outages, until, MOST_OUTAGES).map(
    (outage) => `${Prose.oneLine(outage.target)} ${down(outage, moment)}`
  )
  const more = outages.length - downs.length
  return [ends, ...downs, ...(more === 0 ? [] : [`${Count.of(more, "shorter outage")}`])].join("; ")
}

/** When an endpoint was down: `down 00:10-06:52`, `down since 00:10`, or `down 00:10, not called after 00:40`. */
export const down = (
  { beganAt, endedAt, hasUnknownEnd, lastFailureAt }: PeriodReport.Outage,
  moment: (at: number) => string
): string => {
  if (endedAt !== undefined) return `down ${moment(beganAt)}-${moment(endedAt)}`
  return hasUnknownEnd === true
    ? `down ${moment(beganAt)}, not called after ${moment(lastFailureAt)}`
    : `down since ${moment(beganAt)}`
}

/** The lines for a terminal. */
export const lines = (report: PeriodReport.PeriodReport): ReadonlyArray<string> => [
  report.line,
  "",
  `${period(report)}.`,
  ...Document.lines(sections(report))
]

/** The report as Markdown. */
export const markdown = (report: PeriodReport.PeriodReport): ReadonlyArray<string> => [
  `**${Document.escaped(report.line)}**`,
  "",
  `${Document.escaped(period(report))}.`,
  ...Document.markdown(sections(report))
]

/** Money in dollars: cents from a dollar on, with more digits below. */
export const money = (cost: PeriodReport.Cost, isPartial?: boolean): string => {
  if (cost === "unknown") return "unknown"
  const digits = cost >= 1 ? cost.toFixed(2) : cost === 0 || cost >= 0.001 ? cost.toFixed(4) : cost.toPrecision(2)
  return isPartial === true ? `${digits} USD and an unknown part` : `${digits} USD`
}

// --- internal

/** A section that is left out if it has neither rows nor notes. */
type Section = Document.Section & Required<Pick<Document.Section, "rows" | "notes">>

const period = ({ since, timeZone, until }: PeriodReport.PeriodReport): string => {
  const moment = LocalTime.full(timeZone)
  return `From ${moment(since)} to ${moment(until)}, ${timeZone}`
}

const sections = (report: PeriodReport.PeriodReport): ReadonlyArray<Section> =>
  [
    questions(report),
    outages(report),
    failures(report),
    work(report),
    switches(report),
    spend(report, "Tokens and money", report.models),
    spendBy(report.tags, "By tag", "Tag"),
    spendBy(report.conversations ?? [], "By conversation, of several turns", "Conversation")
  ].filter(({ notes, rows }) => rows.length > 0 || notes.length > 0)

const questions = (report: PeriodReport.PeriodReport): Section => {
  const moment = LocalTime.within(report)
  const { questions = [] } = report
  const shown = questions.slice(0, MOST)
  return {
    title: "Questions to you",
    rows: [],
    notes: [
      ...shown.map(({ command, message, since, until }) => ({
        text: `${Prose.clip(Prose.oneLine(message), MESSAGE)} Asked ${moment(since)}, answer until ${LocalTime.full(report.timeZone)(until)}.`,
        command
      })),
      ...rest(questions, shown)
    ]
  }
}

const outages = (report: PeriodReport.PeriodReport): Section => {
  const moment = LocalTime.within(report)
  const shown = Outages.longest(report.outages, report.until, MOST)
  return {
    title: "Outages",
    head: ["Endpoint", "From", "To", "Length", "Failure", "Failed calls"],
    hasHead: true,
    rows: shown.map((outage) => [
      Prose.oneLine(outage.target),
      moment(outage.beganAt),
      outage.endedAt !== undefined ? moment(outage.endedAt) : outage.hasUnknownEnd === true ? "unknown" : "not over",
      DurationText.rough(Outages.knownUntil(outage, report.until) - outage.beganAt),
      named(outage),
      String(outage.failures)
    ]),
    notes: rest(report.outages, shown)
  }
}

const failures = (report: PeriodReport.PeriodReport): Section => {
  const shown = report.causes.slice(0, MOST)
  return {
    title: "Failed turns",
    rows: [],
    notes: [
      ...shown.map(({ failed, message, remedy, retried, target, ...cause }) => ({
        text:
          `${failed} at ${Prose.oneLine(target)}: ${named(cause)}: ${Prose.clip(Prose.oneLine(message), MESSAGE)}` +
          (retried === 0 ? "" : ` (${retried} retried since)`),
        ...(retried === failed ? {} : remedy)
      })),
      ...rest(report.causes, shown)
    ]
  }
}

const work = ({
  answeredCalls = 0,
  calls,
  forgotten,
  savedCalls,
  turnWaitedMs,
  turns,
  waited,
  waitedMs
}: PeriodReport.PeriodReport): Section => {
  const open = turns.waiting + turns.running + turns.queued
  return {
    title: "Work",
    head: ["Figure", "Value"],
    rows: [
      ["answered", String(turns.answered)],
      ["failed", String(turns.failed)],
      ...(turns.aborted === 0 ? [] : [["aborted", String(turns.aborted)]]),
      ...(open === 0
        ? []
        : [["not ended", `${open}: ${turns.waiting} waiting, ${turns.running} running, ${turns.queued} queued`]]),
      ["turns that waited", waited === 0 ? "0" : `${waited}, together ${DurationText.rough(turnWaitedMs)}`],
      ["time with a waiting turn", DurationText.rough(waitedMs)],
      ["calls of providers", String(calls)],
      ...(answeredCalls === 0 ? [] : [["through the gateway, answered at once", String(answeredCalls)]]),
      ["calls saved by the gate", String(savedCalls)]
    ],
    notes:
      forgotten === 0
        ? []
        : [
            {
              text: `The records of ${forgotten} turns have been deleted (database.retention): their waits and switches are missing.`
            }
          ]
  }
}

const switches = ({ switches }: PeriodReport.PeriodReport): Section =>
  section("Switches", ["From", "To", "Times"], switches, ({ count, from, to }) => [
    Prose.oneLine(from),
    Prose.oneLine(to),
    String(count)
  ])

const spend = (
  { spend }: PeriodReport.PeriodReport,
  title: string,
  entries: ReadonlyArray<PeriodReport.NamedSpend>
): Section => {
  const { notes, rows } = section(title, [], entries, (entry) => spendRow(Prose.oneLine(entry.name), entry))
  const whole = entries.length > 1 ? [spendRow("all", spend)] : []
  const unpriced = entries.filter(({ cost, unreported, turns }) => cost === "unknown" && unreported < turns)
  return {
    title,
    head: SPEND_HEAD,
    hasHead: true,
    rows: rows.length === 0 ? [] : [...rows, ...whole],
    notes: [
      ...notes,
      ...unpriced.map(({ name }) => ({
        text: `${Prose.oneLine(name)} has no price: set prices in the configuration.`
      })),
      ...(spend.unreported === 0
        ? []
        : [
            {
              text: `Providers reported no tokens for ${spend.unreported} of these turns; the figures are without them.`
            }
          ])
    ]
  }
}

const spendBy = (entries: ReadonlyArray<PeriodReport.NamedSpend>, title: string, name: string): Section => {
  const { notes, rows } = section(title, [], entries, (entry) => spendRow(Prose.oneLine(entry.name), entry))
  return { title, head: [name, ...SPEND_HEAD.slice(1)], hasHead: true, rows, notes }
}

const SPEND_HEAD = ["Model", "Turns", "Input", "Output", "Cached", "Cost"]

const spendRow = (
  name: string,
  { cachedInputTokens, cost, inputTokens, isPartial, outputTokens, turns }: PeriodReport.Spend
) => [name, ...[turns, inputTokens, outputTokens, cachedInputTokens].map(Count.format), money(cost, isPartial)]

const section = <A>(
  title: string,
  head: ReadonlyArray<string>,
  entries: ReadonlyArray<A>,
  row: (entry: A) => ReadonlyArray<string>
): Section => {
  const shown = entries.slice(0, MOST)
  return { title, head, rows: shown.map(row), notes: rest(entries, shown) }
}

const rest = (entries: ReadonlyArray<unknown>, shown: ReadonlyArray<unknown>): ReadonlyArray<Document.Note> =>
  entries.length === shown.length ? [] : [{ text: `${entries.length - shown.length} more are in the JSON (--json).` }]

const named = ({ code, reason }: { readonly reason: string; readonly code?: string }): string =>
  code === undefined ? reason : `${reason} ${Prose.oneLine(code)}`
