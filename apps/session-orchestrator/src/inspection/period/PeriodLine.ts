/** Writes a report of a period as one line. Pure. */
import { Count, type PeriodReport } from "@holdfast/wire"
import * as DurationText from "../../text/DurationText.ts"
import * as LocalTime from "../../text/LocalTime.ts"
import * as Prose from "../../text/Prose.ts"
import * as Outages from "./Outages.ts"

/** Outages that the line names, the longest; the others are counted. */
const MOST_OUTAGES = 3

/** The line: turns by their ends, how long turns waited, and the endpoints that were down. */
export const of = ({
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
