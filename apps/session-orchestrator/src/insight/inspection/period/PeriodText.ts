/** Writes a report of a period as one line, for a terminal, and as Markdown. Pure. */
import { Count, type PeriodReport } from "@holdfast/wire"
import * as Document from "../../../base/text/Document.ts"
import * as DurationText from "../../../base/text/DurationText.ts"
import * as LocalTime from "../../../base/text/LocalTime.ts"
import * as Prose from "../../../base/text/Prose.ts"
import * as Outages from "./Outages.ts"

/** Entries of a section that are written; the JSON has all. */
const MOST = 20

/** Characters of an error's message. */
const MESSAGE = 160

/** Outages that the line names, the longest; the others are counted. */
const MOST_OUTAGES = 3

/** The line: turns by their ends, how long turns waited, and the endpoints that were down. */
export const line = (report: Omit<PeriodReport.PeriodReport, "line">): string => {
  const { outages, questions = [], turns, until, waitedMs } = report
  const { aborted, answered, failed, retried } = turns
  const open = openOf(turns)
  const ends = [
    `${answered} answered`,
    `${failed} failed${retried === 0 ? "" : ` (${retried} retried since)`}`,
    ...(aborted === 0 ? [] : [`${aborted} aborted`]),
    ...(open === 0 ? [] : [`${open} not ended`]),
    ...(questions.length === 0 ? [] : [`${questions.length} waiting for a person`]),
    ...(waitedMs === 0 ? [] : [`waited ${DurationText.rough(waitedMs)}`])
  ].join(", ")
  const moment = LocalTime.within(report)
  const downs = Outages.longest(outages, until, MOST_OUTAGES).map(
    (outage) => `${Prose.oneLine(outage.target)} ${down(outage, moment)}`
  )
  const more = outages.length - downs.length
  return [ends, ...downs, ...(more === 0 ? [] : [`${Count.of(more, "shorter outage")}`])].join("; ")
}

/**
 * When an endpoint was down: `down 00:10-06:52`, `down 16 s at 00:10`, `down since 00:10`, or `down 00:10, not called after 00:40`. Of a
 * limit that was used up it is `at its limit 00:10-03:00`.
 */
export const down = (
  { beganAt, endedAt, hasUnknownEnd, lastFailureAt, reason }: PeriodReport.Outage,
  moment: LocalTime.Format
): string => {
  const how = LIMITS.has(reason) ? "at its limit" : "down"
  if (endedAt !== undefined) {
    const [from, to] = [moment(beganAt), moment(endedAt)]
    return from === to ? `${how} ${lengthOf(endedAt - beganAt)} at ${from}` : `${how} ${from}-${to}`
  }
  return hasUnknownEnd === true
    ? `${how} ${moment(beganAt)}, not called after ${moment(lastFailureAt)}`
    : `${how} since ${moment(beganAt)}`
}

/** The length of an outage, which may be shorter than a second. */
const lengthOf = (ms: number): string => (ms < 1_000 ? "under 1 s" : DurationText.rough(ms))

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

/** Failures at a limit of the provider. */
const LIMITS: ReadonlySet<PeriodReport.Outage["reason"]> = new Set(["rate-limited", "quota-exhausted"])

/** A section that is left out if it has neither rows nor notes. */
type Section = Document.Section & Required<Pick<Document.Section, "rows" | "notes">>

const period = ({ since, timeZone, until }: PeriodReport.PeriodReport): string => {
  const moment = LocalTime.full(timeZone)
  return `From ${moment(since)} to ${moment(until)}, ${timeZone}`
}

const sections = (report: PeriodReport.PeriodReport): ReadonlyArray<Section> => {
  const { causes, conversations = [], outages, questions = [], switches, tags, timeZone, until } = report
  const moment = LocalTime.within(report)
  const full = LocalTime.full(timeZone)
  return [
    section("Questions to you", questions, {
      note: ({ command, message, since, until }) => ({
        text: `${quoted(message)} Asked ${moment(since)}, answer until ${full(until)}.`,
        command
      })
    }),
    section("Outages", outages, {
      head: ["Endpoint", "From", "To", "Length", "Failure", "Failed calls"],
      hasHead: true,
      shown: Outages.longest(outages, until, MOST),
      row: (outage) => [
        Prose.oneLine(outage.target),
        moment(outage.beganAt),
        outage.endedAt !== undefined ? moment(outage.endedAt) : outage.hasUnknownEnd === true ? "unknown" : "not over",
        lengthOf(Outages.knownUntil(outage, until) - outage.beganAt),
        named(outage),
        String(outage.failures)
      ]
    }),
    section("Failed turns", causes, {
      note: ({ failed, message, remedy, retried, target, ...cause }) => ({
        text: `${failed} at ${Prose.oneLine(target)}: ${named(cause)}: ${quoted(message)}${retried === 0 ? "" : ` (${retried} retried since)`}`,
        ...(retried === failed ? {} : remedy)
      })
    }),
    work(report),
    section("Switches", switches, {
      head: ["From", "To", "Times"],
      row: ({ count, from, to }) => [Prose.oneLine(from), Prose.oneLine(to), String(count)]
    }),
    spend(report),
    spendBy("By tag", "Tag", tags),
    spendBy("By conversation, of several turns", "Conversation", conversations)
  ].filter(({ notes, rows }) => rows.length > 0 || notes.length > 0)
}

/** The turns that have not ended. */
const openOf = ({ queued, running, waiting }: PeriodReport.PeriodReport["turns"]): number => waiting + running + queued

const work = (report: PeriodReport.PeriodReport): Section => {
  const { answeredCalls = 0, calls, forgotten, savedCalls, turns, turnWaitedMs, waited, waitedMs } = report
  const { aborted, answered, failed, queued, running, waiting } = turns
  const open = openOf(turns)
  return {
    title: "Work",
    head: ["Figure", "Value"],
    rows: [
      ["answered", String(answered)],
      ["failed", String(failed)],
      aborted > 0 && ["aborted", String(aborted)],
      open > 0 && ["not ended", `${open}: ${waiting} waiting, ${running} running, ${queued} queued`],
      ["turns that waited", waited === 0 ? "0" : `${waited}, together ${DurationText.rough(turnWaitedMs)}`],
      ["time with a waiting turn", DurationText.rough(waitedMs)],
      ["calls of providers", String(calls)],
      answeredCalls > 0 && ["through the gateway, answered at once", String(answeredCalls)],
      ["calls saved by the gate", String(savedCalls)]
    ].filter((row) => row !== false),
    notes: [
      forgotten > 0 &&
        `The records of ${Count.of(forgotten, "turn")} have been deleted (database.retention): their waits and switches are missing.`
    ].flatMap(noteOf)
  }
}

const spend = ({ models, spend }: PeriodReport.PeriodReport): Section => {
  const { notes, rows, ...section } = spendBy("Tokens and money", "Model", models)
  const unpriced = models.filter(({ cost, unreported, turns }) => cost === "unknown" && unreported < turns)
  return {
    ...section,
    rows: models.length > 1 ? [...rows, spendRow({ ...spend, name: "all" })] : rows,
    notes: [
      ...notes,
      ...[
        ...unpriced.map(({ name }) => `${Prose.oneLine(name)} has no price: set prices in the configuration.`),
        spend.unreported > 0 &&
          `Providers reported no tokens for ${spend.unreported} of these turns; the figures are without them.`
      ].flatMap(noteOf)
    ]
  }
}

const spendBy = (title: string, name: string, entries: ReadonlyArray<PeriodReport.NamedSpend>): Section =>
  section(title, entries, {
    head: [name, "Turns", "Input", "Output", "Cached", "Cost"],
    hasHead: true,
    row: spendRow
  })

const spendRow = (spend: PeriodReport.NamedSpend): ReadonlyArray<string> => [
  Prose.oneLine(spend.name),
  ...[spend.turns, spend.inputTokens, spend.outputTokens, spend.cachedInputTokens].map(Count.format),
  money(spend.cost, spend.isPartial)
]

/** A section of entries, each a row or a note. */
const section = <A>(
  title: string,
  entries: ReadonlyArray<A>,
  {
    note,
    row,
    shown = entries.slice(0, MOST),
    ...head
  }: Pick<Document.Section, "head" | "hasHead"> & {
    readonly row?: (entry: A) => ReadonlyArray<string>
    readonly note?: (entry: A) => Document.Note
    readonly shown?: ReadonlyArray<A>
  }
): Section => {
  const more = entries.length - shown.length
  return {
    title,
    ...head,
    rows: row === undefined ? [] : shown.map(row),
    notes: [
      ...(note === undefined ? [] : shown.map(note)),
      ...noteOf(more > 0 && `${more} more are in the JSON (--json).`)
    ]
  }
}

const noteOf = (text: string | false): ReadonlyArray<Document.Note> => (text === false ? [] : [{ text }])

const quoted = (message: string): string => Prose.clip(Prose.oneLine(message), MESSAGE)

const named = ({ code, reason }: { readonly reason: string; readonly code?: string }): string =>
  code === undefined ? reason : `${reason} ${Prose.oneLine(code)}`
