/**
 * Formats an explanation as lines of text, in the order of events.
 *
 * A failure that repeats at the same target is printed once, with the first full response; after that each retry is one line. Other
 * delays that its provider asks for are printed each time. No line is wider than `columns`. A date stands before the first line of its
 * day.
 */
import { Count, type Failure, type TurnExplanation } from "@holdfast/wire"
import * as Prose from "../text/Prose.ts"
import * as Words from "./Words.ts"

/** The output device: its time zone and width. */
export interface Display {
  /** As the time zone database names it: `UTC`, `Europe/Berlin`. */
  readonly timeZone: string
  readonly columns: number
}

/** The width if the output device reports none. */
export const COLUMNS = 120

/** The lines of an explanation. */
export const lines = (
  explanation: TurnExplanation.TurnExplanation,
  { columns, timeZone }: Display
): ReadonlyArray<string> => {
  const clock = clockOf(timeZone)
  const page = new Page(clock, columns)
  const { acceptedAt, conversationId, interruption, isForgotten, seal, steps, turnId, unread } = explanation
  page.plain(`Turn ${turnId} of conversation ${conversationId}: ${standing(explanation, seenFrom(clock, undefined))}.`)
  page.plain(`Times are ${timeZone}.`)
  page.blank()
  page.entry(acceptedAt, "The turn was accepted.")
  if (isForgotten) {
    page.entry(undefined, "The records of its decisions have been deleted (database.retention); only its end is known.")
  }
  for (const step of steps) {
    page.blank()
    page.plain(`Step ${step.step + 1}, on ${step.attempts[0]?.target ?? "no target"}${Words.last(step.final)}`)
    let known: TurnExplanation.Attempt | undefined
    for (const attempt of step.attempts) known = writeAttempt(page, clock, attempt, known)
    for (const tool of step.tools) {
      const { approval } = tool
      const question = approval === undefined ? [] : [Words.approval(approval, seenFrom(clock, approval.askedAt))]
      page.entry(tool.endedAt, Words.tool(tool), ...question)
    }
  }
  if (interruption !== undefined) {
    page.blank()
    page.entry(undefined, Words.interruption(interruption))
  }
  if (seal !== undefined) {
    page.blank()
    page.entry(seal.endedAt, Words.seal(seal))
  }
  if (unread.length > 0) {
    page.blank()
    page.plain(
      `A later version wrote ${Count.of(unread.length, "record")} that this one cannot read: ${unread.join(", ")}.`
    )
  }
  return page.lines
}

// --- internal

/** A moment as a date and a time of day. */
type Clock = (epochMs: number) => { readonly date: string; readonly time: string }

const clockOf = (timeZone: string): Clock => {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" })
  return (epochMs) => {
    const [date = "", time = ""] = format.format(epochMs).split(" ")
    return { date, time }
  }
}

const TIME_WIDTH = "00:00:00".length
const INDENT = " ".repeat(2 + TIME_WIDTH + 2)

/** Lines of text; each entry begins with its time. */
class Page {
  readonly lines: Array<string> = []
  private readonly clock: Clock
  private readonly columns: number
  private date = ""

  constructor(clock: Clock, columns: number) {
    this.clock = clock
    this.columns = columns
  }

  blank(): void {
    if (this.lines.at(-1) !== "") this.lines.push("")
  }

  plain(text: string): void {
    this.lines.push(...Prose.wrap(text, this.columns, Infinity))
  }

  /** One event, with its details on lines of their own. */
  entry(epochMs: number | undefined, ...texts: ReadonlyArray<string>): void {
    const moment = epochMs === undefined ? undefined : this.clock(epochMs)
    if (moment !== undefined && moment.date !== this.date) {
      this.date = moment.date
      this.lines.push(`  ${moment.date}`)
    }
    const width = this.columns - INDENT.length
    const wrapped = texts.flatMap((text) => Prose.wrap(text, width, Infinity))
    wrapped.forEach((line, i) =>
      this.lines.push(`  ${(i === 0 ? (moment?.time ?? "") : "").padEnd(TIME_WIDTH)}  ${line}`)
    )
  }
}

const standing = ({ seal, status, steps }: TurnExplanation.TurnExplanation, at: Words.At): string => {
  if (seal !== undefined) return seal.status
  const last = steps.at(-1)
  const question = last?.tools.find(({ approval }) => approval?.outcome === "open")?.approval
  if (question !== undefined) return `waiting for approval of a tool call until ${at(question.until)}`
  const wait = last?.attempts.at(-1)?.wait
  if (status !== "waiting" || wait === undefined) return status
  return Words.isAsking(wait)
    ? `waiting for an answer until ${at(wait.retryAt)}`
    : `waiting, to retry at ${at(wait.retryAt)}`
}

/** Writes an attempt with its decision and wait; returns the attempt whose failure the reader knows by now. */
const writeAttempt = (
  page: Page,
  clock: Clock,
  attempt: TurnExplanation.Attempt,
  known: TurnExplanation.Attempt | undefined
): TurnExplanation.Attempt | undefined => {
  const { decision, endedAt, failure, wait } = attempt
  if (failure === undefined) {
    page.entry(endedAt, Words.attempt(attempt))
    return known
  }
  const why = decision === undefined ? "" : Words.decision(decision, failure, seenFrom(clock, endedAt))
  const before = known?.failure
  if (before !== undefined && known?.target === attempt.target && isRepeated(attempt) && isSame(before, failure)) {
    const asked = Words.asking(failure)
    const isNews = asked !== "" && asked !== Words.asking(before)
    page.entry(endedAt, `Attempt ${attempt.attempt + 1}: same. ${isNews ? `${asked} ` : ""}${why}`)
  } else {
    page.entry(endedAt, Words.attempt(attempt), Words.evidence(failure), Words.body(attempt), why)
  }
  if (wait === undefined) return attempt
  const noted = <A extends { readonly at?: number }>(one: A, words: (one: A, at: Words.At) => string) => ({
    at: one.at,
    text: words(one, seenFrom(clock, one.at))
  })
  const happened = [
    ...wait.changes.map((change) => noted(change, Words.change)),
    ...(wait.asked === undefined ? [] : [noted(wait.asked, Words.asked)]),
    ...(wait.deaths ?? []).map((death) => noted(death, Words.death))
  ]
  for (const { at, text } of happened.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))) page.entry(at, text)
  const { end } = wait
  const due = Words.dueAt(wait)
  // A wait that ended on time is not printed: the next line shows it.
  if (end !== undefined && !Words.isOnTime(end, due)) page.entry(end.at, Words.waitEnd(end, due))
  return attempt
}

/** Whether a failure may repeat an earlier one: not after an answer had begun, and not in a call for a summary. */
const isRepeated = ({ compaction, hasContent }: TurnExplanation.Attempt): boolean =>
  !hasContent && compaction === undefined

/** Formats a moment, with its date if that differs from the date of `from`. */
const seenFrom =
  (clock: Clock, from: number | undefined): Words.At =>
  (epochMs) => {
    const { date, time } = clock(epochMs)
    return from !== undefined && clock(from).date === date ? time : `${date} ${time}`
  }

/** Whether two failures differ only in details that change from request to request. */
const isSame = (a: Failure.Failure, b: Failure.Failure): boolean =>
  a.reason === b.reason &&
  a.message === b.message &&
  a.status === b.status &&
  a.code === b.code &&
  a.shared === b.shared
