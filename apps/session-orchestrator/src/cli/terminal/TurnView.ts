/**
 * Decides what a terminal shows of a turn. Pure.
 *
 * `update` folds events into a state and returns the permanent output; `view` returns the status lines below it, which change with time
 * (D13).
 *
 * The time left is the time until `retryAt`, at most the length of the wait and at least 0: it never grows with time, and is never
 * negative. No line of the view is wider than the terminal: repainting relies on that.
 */
import { Count, Failure, FilePart, Message, type TurnEvent } from "@holdfast/wire"
import * as Words from "../../insight/inspection/Words.ts"
import * as Prose from "../../base/text/Prose.ts"
import * as DurationText from "../../base/text/DurationText.ts"

/** The shown part of a turn. */
export interface ViewState {
  /** The wait in progress; it stays during the following attempt until that attempt has content. */
  readonly wait: TurnEvent.ProviderRetry | undefined
  /** Text of the step in progress was written. */
  readonly isAnswering: boolean
  /** What was written of the step in progress: characters, and files. */
  readonly written: Written
  /** What a new connection sends again of it, and is left out. */
  readonly again: Written
  readonly step: number | undefined
  /** Text of an earlier step was written. */
  readonly hasAnswered: boolean
  /** The person has pressed Ctrl-C. */
  readonly isAborting: boolean
  readonly end: TurnEvent.TurnEnd | undefined
}

interface Written {
  readonly text: number
  readonly files: number
}

const NOTHING: Written = { text: 0, files: 0 }

/** A step before its first content. */
const UNBEGUN = { isAnswering: false, written: NOTHING, again: NOTHING }

/** The state before the first event. */
export const initial: ViewState = {
  ...UNBEGUN,
  wait: undefined,
  step: undefined,
  hasAnswered: false,
  isAborting: false,
  end: undefined
}

/** Permanent output: a piece of the answer, or a line about it. */
export type Output =
  | { readonly _tag: "Answer"; readonly text: string }
  | { readonly _tag: "Line"; readonly text: string; readonly tone: Tone }

/** The kind of a line: a wait that is over, a change, a failure, a remark. */
export type Tone = "wait" | "notice" | "failure" | "aside"

type Update = readonly [ViewState, ReadonlyArray<Output>]

/** Folds an event into the state and returns the permanent output. */
export const update = (state: ViewState, event: TurnEvent.TurnEvent): Update => {
  switch (event.type) {
    case "text-delta": {
      const { again, written } = state
      const text = event.delta.slice(again.text)
      const rest = { ...again, text: Math.max(0, again.text - event.delta.length) }
      if (text === "") return [{ ...state, again: rest }, []]
      const next = { ...written, text: written.text + text.length }
      return [
        { ...state, wait: undefined, isAnswering: true, written: next, again: rest },
        [...over(state), { _tag: "Answer", text }]
      ]
    }
    case "file": {
      const { again, written } = state
      if (again.files > 0) return [{ ...state, again: { ...again, files: again.files - 1 } }, []]
      const next = { ...written, files: written.files + 1 }
      return [{ ...state, wait: undefined, isAnswering: true, written: next }, [...over(state), fileLine(event.file)]]
    }
    case "provider-retry":
      // A connection that was made anew announces its wait again.
      if (isSame(state.wait, event)) return [state, []]
      // A wait that asks continues the wait before it, which has led to no retry yet.
      return [{ ...state, wait: event }, event.asks === undefined ? over(state) : []]
    case "reasoning-delta":
    case "retry-end":
      return [{ ...state, wait: undefined }, over(state)]
    case "step-start":
      // A connection that was made anew sends the step in progress from its beginning.
      if (state.isAnswering && event.step === state.step) return [{ ...state, again: state.written }, []]
      // Two answers of one turn are two paragraphs.
      return [
        { ...state, ...UNBEGUN, hasAnswered: false, step: event.step },
        hasText(state) ? [{ _tag: "Answer", text: "\n" }] : []
      ]
    case "message": {
      // Its text was shown as deltas, as far as this process was connected while they came.
      const shown = state.isAnswering ? state.written.text : 0
      const text = event.message.role === "assistant" ? Message.textOf(event.message).slice(shown) : ""
      const next = { ...state, ...UNBEGUN, hasAnswered: hasText(state) || text !== "" }
      const answer: ReadonlyArray<Output> =
        text === "" ? [] : [{ _tag: "Answer", text: state.hasAnswered && shown === 0 ? `\n${text}` : text }]
      return [next, state.isAnswering ? answer : [...answer, ...filesOf(event.message)]]
    }
    case "tools-missing": {
      const names = event.servers.map(({ message, server }) => `${server} (${message})`).join(", ")
      const what = event.until === undefined ? "Runs without the tools of" : "Waits for the tools of"
      return [state, [line("notice", `${what} ${names}.`)]]
    }
    case "tool-call":
      return [{ ...state, wait: undefined }, [...over(state), line("aside", `calls ${event.toolName}`)]]
    case "step-discarded":
      return [{ ...state, ...UNBEGUN }, [line("notice", event.message)]]
    case "model-change":
      return [state, [line("notice", `Goes on with ${event.to} instead of ${event.from}.`)]]
    case "turn-end":
      return [{ ...state, wait: undefined, end: event }, [...over(state), ...ending(event)]]
    default:
      // The history and `--json` have the other events.
      return [state, []]
  }
}

/** Folds a Ctrl-C into the state. */
export const aborting = (state: ViewState): Update => [
  { ...state, isAborting: true },
  [line("notice", "Aborting the turn. Ctrl-C again quits at once.")]
]

/** The width of the terminal, and the local form of a time of day. */
interface Display {
  readonly columns: number
  readonly timeOfDay: (epochMs: number) => string
  /** What Ctrl-C does. */
  readonly advice?: string | undefined
}

/** Milliseconds left of a wait. */
export const timeLeft = (wait: TurnEvent.ProviderRetry, now: number): number =>
  Math.max(0, Math.min(wait.retryAt - now, Math.max(0, wait.delayMs)))

/** The status lines at a moment: none, or the error and the countdown. */
export const view = (
  state: ViewState,
  now: number,
  { advice: hint = "Ctrl-C aborts", columns, timeOfDay }: Display
): ReadonlyArray<string> => {
  const { wait } = state
  if (wait === undefined || state.end !== undefined) return []
  const left = timeLeft(wait, now)
  const next = `  ${nextOf(wait, left, timeOfDay)}`
  const advice = ` (${hint})`
  const isRoom = !state.isAborting && left > 0 && next.length + advice.length <= columns
  return [
    ...Prose.wrap(`! ${fault(wait)}`, columns, MESSAGE_LINES),
    ...(wait.asks === undefined ? [] : Prose.wrap(`? ${Prose.oneLine(wait.asks.message)}`, columns, MESSAGE_LINES)),
    isRoom ? next + advice : Prose.clip(next, columns)
  ]
}

/** Milliseconds until `view` changes, at most a second. */
export const untilChange = (state: ViewState, now: number): number => {
  const left = state.wait === undefined ? 0 : timeLeft(state.wait, now)
  return left % 1000 === 0 ? 1000 : left % 1000
}

/**
 * The wait as one line, for output that cannot be repainted.
 *
 * **Details**
 *
 * A line is due when the wait begins, and each time that the rest of the wait falls below a multiple of `REMINDER_MS`; otherwise the
 * result is `undefined`. `said` is the rest of the wait when the last line was written.
 */
export const plainLine = (
  wait: TurnEvent.ProviderRetry,
  now: number,
  said: number | undefined,
  timeOfDay: Display["timeOfDay"]
): string | undefined => {
  const left = timeLeft(wait, now)
  if (said === undefined && wait.asks !== undefined) {
    return `${Prose.oneLine(wait.asks.message)} - ${lowerCase(nextOf(wait, left, timeOfDay))}`
  }
  if (said === undefined) {
    const when = isAtOnce(wait) ? atOnce(wait) : `in ${DurationText.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
    return `${fault(wait)} - retry ${ordinal(wait)} ${when}`
  }
  return left > 0 && Math.ceil(left / REMINDER_MS) < Math.ceil(said / REMINDER_MS)
    ? wait.asks === undefined
      ? `retry ${ordinal(wait)} in ${DurationText.countdown(left)}`
      : lowerCase(nextOf(wait, left, timeOfDay))
    : undefined
}

/** The time between two reminders: the log of a night has a hundred lines, not thirty thousand. */
const REMINDER_MS = 5 * 60_000

// --- internal

/** Lines of a message. More of an error page would not help. */
const MESSAGE_LINES = 3

const line = (tone: Tone, text: string): Output => ({ _tag: "Line", tone, text })

const fileLine = (file: Message.ModelFile): Output => line("notice", Prose.oneLine(FilePart.placeholderOf(file)))

const filesOf = (message: Message.Message): ReadonlyArray<Output> =>
  message.role === "assistant" ? message.content.flatMap((part) => (part.type === "file" ? [fileLine(part)] : [])) : []

const isSame = (wait: TurnEvent.ProviderRetry | undefined, event: TurnEvent.ProviderRetry): boolean =>
  wait !== undefined &&
  wait.attempt === event.attempt &&
  wait.retryAt === event.retryAt &&
  wait.asks?.message === event.asks?.message

const hasText = ({ hasAnswered, isAnswering }: ViewState): boolean => isAnswering || hasAnswered

/** The number of a retry: `3`, or `3/10` if there is a limit. People count from 1. */
const ordinal = (wait: TurnEvent.ProviderRetry): string =>
  wait.maxAttempts === undefined ? `${wait.attempt + 1}` : `${wait.attempt + 1}/${wait.maxAttempts}`

/** The turn switches to another credential or target without a wait (P7, P8). */
const isAtOnce = ({ delayMs }: TurnEvent.ProviderRetry): boolean => delayMs <= 0

const atOnce = ({ credential }: TurnEvent.ProviderRetry): string =>
  credential === undefined ? "at once" : `at once, with ${Prose.oneLine(credential)}`

const fault = ({ code, message, target }: TurnEvent.ProviderRetry): string => `${target}: ${Prose.coded(code, message)}`

/** The line about the end of a wait. A wait that asks leads to no retry by itself (X11). */
const nextOf = (wait: TurnEvent.ProviderRetry, left: number, timeOfDay: Display["timeOfDay"]): string => {
  if (wait.asks !== undefined) {
    const end = wait.asks.because === "tools" ? "Refused" : "Gives up"
    return `${end} without an answer in ${DurationText.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
  }
  return left === 0
    ? `Retry ${ordinal(wait)} runs now …`
    : `Retry ${ordinal(wait)} in ${DurationText.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
}

const lowerCase = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

/** The permanent line of a wait that is over. */
const over = ({ isAborting, wait }: ViewState): ReadonlyArray<Output> => {
  if (wait === undefined) return []
  if (wait.asks !== undefined) return [line("wait", `? ${Prose.oneLine(wait.asks.message)}`)]
  // A wait that was cancelled led to no retry.
  const when = isAtOnce(wait) ? atOnce(wait) : `after ${DurationText.format(wait.delayMs)}`
  const consequence = isAborting ? "" : ` - retry ${ordinal(wait)} ${when}`
  return [line("wait", `! ${fault(wait)}${consequence}`)]
}

const ending = (end: TurnEvent.TurnEnd): ReadonlyArray<Output> =>
  end.status === "completed" ? [] : [line("failure", end.status === "aborted" ? "Aborted." : failed(end))]

const failed = ({ attempts, error, sleptMs, waitedMs }: TurnEvent.TurnEnd): string => {
  const what = error === undefined ? "no reason was given" : Prose.coded(Failure.codeOf(error), error.message)
  const waited = Words.waiting(sleptMs, waitedMs)
  const tried = attempts <= 1 ? "" : ` (${Count.of(attempts, "call")}${waited === "" ? "" : `, ${waited}`})`
  return `Failed: ${what}${tried}`
}
