/**
 * Formats an explanation as lines of text, in the order of events.
 *
 * A failure that repeats at the same target is printed once, with the first full response; after that each retry is one line. Other
 * delays that its provider asks for are printed each time. No line is wider than `columns`. A date stands before the first line of its
 * day.
 */
import { Count, type Failure, HeldCall, type TurnExplanation, Rfc3339 } from "@holdfast/wire"
import * as LocalTime from "../../base/text/LocalTime.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as Words from "./Words.ts"

/** The output device: its time zone and width. */
interface Display {
  /** As the time zone database names it: `UTC`, `Europe/Berlin`. */
  readonly timeZone: string
  readonly columns: number
  /** Epoch milliseconds. */
  readonly now: number
  /** Behind each decision its rules, by their numbers in tools/src/RuleBook.ts. */
  readonly isRuled?: boolean
}

/** The width if the output device reports none. */
export const COLUMNS = 120

/** The lines of an explanation. */
export const lines = (explanation: TurnExplanation.TurnExplanation, display: Display): ReadonlyArray<string> => {
  const page = new Page(display)
  const { acceptedAt, conversationId, interruption, isForgotten, seal, steps, turnId, unread } = explanation
  page.plain(
    `Turn ${turnId} of conversation ${conversationId}: ${standing(explanation, page.seenFrom(undefined), display.now)}.`
  )
  page.plain(`Times are ${display.timeZone}.`)
  page.blank()
  page.entry(acceptedAt, "The turn was accepted.")
  if (isForgotten) {
    page.entry(undefined, "The records of its decisions have been deleted (database.retention); only its end is known.")
  }
  for (const step of steps) {
    page.blank()
    page.plain(`Step ${step.step + 1}, on ${step.attempts[0]?.target ?? "no target"}${Words.last(step.final)}`)
    let known: TurnExplanation.ExplainedAttempt | undefined
    for (const attempt of step.attempts) known = writeAttempt(page, attempt, known)
    for (const { approval, endedAt, words } of step.tools)
      page.entry(endedAt, words, ...(approval === undefined ? [] : [page.said(approval, approval.askedAt)]))
  }
  if (interruption !== undefined) {
    page.blank()
    page.entry(undefined, page.said(interruption))
  }
  if (seal !== undefined) {
    page.blank()
    page.entry(seal.endedAt, page.said(seal, seal.endedAt))
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

const TIME_WIDTH = "00:00:00".length
const INDENT = " ".repeat(2 + TIME_WIDTH + 2)

/** Lines of text; each entry begins with its time. */
class Page {
  readonly lines: Array<string> = []
  private readonly display: Display
  private readonly write: LocalTime.Format
  private date = ""

  constructor(display: Display) {
    this.display = display
    this.write = LocalTime.full(display.timeZone, "medium")
  }

  /** Moments with their dates, but for those on the day of `from`. */
  seenFrom(from: number | undefined): LocalTime.Format {
    return LocalTime.seenFrom(this.write, from)
  }

  /** A sentence with moments of this place, and with the rules of what it is about, where they are wanted. */
  said({ rules, words }: { readonly words: string; readonly rules: ReadonlyArray<string> }, from?: number): string {
    const text = Rfc3339.local(words, this.seenFrom(from))
    return this.display.isRuled === true && rules.length > 0 ? `${text} (${rules.join(", ")})` : text
  }

  blank(): void {
    if (this.lines.at(-1) !== "") this.lines.push("")
  }

  plain(text: string): void {
    this.lines.push(...Prose.wrap(text, this.display.columns, Infinity))
  }

  /** One event, with its details on lines of their own. */
  entry(epochMs: number | undefined, ...texts: ReadonlyArray<string>): void {
    const [date = "", time = ""] = epochMs === undefined ? [] : this.write(epochMs).split(" ")
    if (date !== "" && date !== this.date) {
      this.date = date
      this.lines.push(`  ${date}`)
    }
    const width = this.display.columns - INDENT.length
    const wrapped = texts.flatMap((text) => Prose.wrap(text, width, Infinity))
    wrapped.forEach((line, i) => this.lines.push(`  ${(i === 0 ? time : "").padEnd(TIME_WIDTH)}  ${line}`))
  }
}

const standing = (
  { conversationId, seal, status, steps }: TurnExplanation.TurnExplanation,
  at: LocalTime.Format,
  now: number
): string => {
  if (seal !== undefined) return seal.status
  const last = steps.at(-1)
  const question = last?.tools.find(({ approval }) => approval?.outcome === "open")?.approval
  if (question !== undefined) return `waiting for approval of a tool call until ${at(question.until)}`
  const wait = last?.attempts.at(-1)?.wait
  if (status !== "waiting" || wait === undefined) return status
  const due = HeldCall.dueWords(conversationId, wait.retryAt - now)
  if (due !== undefined) return due
  return Words.isAsking(wait)
    ? `waiting for an answer until ${at(wait.retryAt)}`
    : `waiting, to retry at ${at(wait.retryAt)}`
}

/** Writes an attempt with its decision and wait; returns the attempt whose failure the reader knows by now. */
const writeAttempt = (
  page: Page,
  attempt: TurnExplanation.ExplainedAttempt,
  known: TurnExplanation.ExplainedAttempt | undefined
): TurnExplanation.ExplainedAttempt | undefined => {
  const { decision, endedAt, failure, wait, words } = attempt
  if (failure === undefined) {
    page.entry(endedAt, words)
    return known
  }
  const why = decision === undefined ? "" : page.said(decision, endedAt)
  const before = known?.failure
  if (before !== undefined && known?.target === attempt.target && isRepeated(attempt) && isSame(before, failure)) {
    const asked = Words.asking(failure)
    const isNews = asked !== "" && asked !== Words.asking(before)
    page.entry(endedAt, `Attempt ${attempt.attempt + 1}: same. ${isNews ? `${asked} ` : ""}${why}`)
  } else {
    page.entry(endedAt, words, Words.evidence(failure), Words.body(attempt), why)
  }
  if (wait === undefined) return attempt
  const { asked, changes, deaths = [], end } = wait
  const happened = [...changes, ...(asked === undefined ? [] : [asked]), ...deaths]
  for (const one of happened.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))) page.entry(one.at, page.said(one, one.at))
  // A wait that ended on time is not printed: the next line shows it.
  if (end !== undefined && !Words.isOnTime(end, Words.dueAt(wait))) page.entry(end.at, page.said(end, end.at))
  return attempt
}

/** Whether a failure may repeat an earlier one: not after an answer had begun, and not in a call for a summary. */
const isRepeated = ({ compaction, hasContent }: TurnExplanation.ExplainedAttempt): boolean =>
  !hasContent && compaction === undefined

/** Whether two failures differ only in details that change from request to request. */
const isSame = (a: Failure.Failure, b: Failure.Failure): boolean =>
  a.reason === b.reason &&
  a.message === b.message &&
  a.status === b.status &&
  a.code === b.code &&
  a.shared === b.shared
