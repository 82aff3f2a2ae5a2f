/**
 * What a person sees of a turn in a terminal, as plain values: no terminal here, no clock.
 *
 * `update` folds events into a state and says what to write for good; `view` is what stands below it for now, and changes as
 * time goes on (D13).
 *
 * V1. The time left is what is left until `retryAt`, at most the length of the wait and at least nothing: while time goes on
 *     it never grows, and it is never negative.
 * V2. No line of the view is wider than the terminal: a driver that repaints counts on it.
 */
import { Failure, Message, type TurnEvent } from "@holdfast/wire"
import * as Words from "../../inspection/Words.ts"
import * as Prose from "../../text/Prose.ts"
import * as Span from "../../text/Span.ts"

export interface State {
  /** The wait in progress, or the attempt that follows it until it says something. */
  readonly wait: TurnEvent.ProviderRetry | undefined
  /** How many waits there were. */
  readonly waits: number
  /** Some text of the step in progress was written. */
  readonly isAnswering: boolean
  /** Text of an earlier step was written. */
  readonly hasAnswered: boolean
  /** The person wants it to end. */
  readonly isAborting: boolean
  readonly end: TurnEvent.TurnEnd | undefined
}

export const initial: State = {
  wait: undefined,
  waits: 0,
  isAnswering: false,
  hasAnswered: false,
  isAborting: false,
  end: undefined
}

/** Written for good: a piece of the answer, or a line about it. */
export type Output =
  | { readonly _tag: "Answer"; readonly text: string }
  | { readonly _tag: "Line"; readonly text: string; readonly tone: Tone }

/** What a line is: a wait that is over, a turn of events, something that went wrong, something by the way. */
export type Tone = "wait" | "notice" | "failure" | "aside"

type Update = readonly [State, ReadonlyArray<Output>]

/** Takes an event in. */
export const update = (state: State, event: TurnEvent.TurnEvent): Update => {
  switch (event.type) {
    case "text-delta":
      return [{ ...state, wait: undefined, isAnswering: true }, [...over(state), { _tag: "Answer", text: event.delta }]]
    case "provider-retry":
      // A wait that asks is the one before it, which has led to nothing yet.
      return [{ ...state, wait: event, waits: state.waits + 1 }, event.asks === undefined ? over(state) : []]
    case "reasoning-delta":
    case "retry-end":
      return [{ ...state, wait: undefined }, over(state)]
    case "step-start":
      // Two answers of one turn are two paragraphs.
      return [
        { ...state, isAnswering: false, hasAnswered: false },
        hasText(state) ? [{ _tag: "Answer", text: "\n" }] : []
      ]
    case "message": {
      // Its text was seen as it came, unless the step had ended before this turn was watched.
      const text = state.isAnswering || event.message.role !== "assistant" ? "" : Message.textOf(event.message)
      const next = { ...state, isAnswering: false, hasAnswered: hasText(state) || text !== "" }
      return [next, text === "" ? [] : [{ _tag: "Answer", text: hasText(state) ? `\n${text}` : text }]]
    }
    case "tools-missing": {
      const names = event.servers.map(({ message, server }) => `${server} (${message})`).join(", ")
      const what = event.until === undefined ? "Runs without the tools of" : "Waits for the tools of"
      return [state, [line("notice", `${what} ${names}.`)]]
    }
    case "tool-call":
      return [{ ...state, wait: undefined }, [...over(state), line("aside", `calls ${event.toolName}`)]]
    case "step-discarded":
      return [
        { ...state, isAnswering: false },
        [line("notice", `What was shown is void: ${event.message} It is answered anew.`)]
      ]
    case "model-change":
      return [state, [line("notice", `Goes on with ${event.to} instead of ${event.from}.`)]]
    case "turn-end":
      return [{ ...state, wait: undefined, end: event }, [...over(state), ...ending(event)]]
    default:
      // What else there is shows in the history, and in `--json`.
      return [state, []]
  }
}

/** The person pressed Ctrl-C. */
export const aborting = (state: State): Update => [
  { ...state, isAborting: true },
  [line("notice", "Aborting the turn. Ctrl-C again quits at once.")]
]

/** How wide it may be, and how people here write the time of day. */
export interface Surroundings {
  readonly columns: number
  readonly timeOfDay: (epochMs: number) => string
  /** What Ctrl-C does. */
  readonly advice?: string | undefined
}

/** Milliseconds left of a wait (V1). */
export const timeLeft = (wait: TurnEvent.ProviderRetry, now: number): number =>
  Math.max(0, Math.min(wait.retryAt - now, Math.max(0, wait.delayMs)))

/** What stands below the answer at this moment: nothing, or the error and the countdown. */
export const view = (
  state: State,
  now: number,
  { advice: hint = "Ctrl-C aborts", columns, timeOfDay }: Surroundings
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

/** Milliseconds until `view` would look different, at most a second. */
export const untilChange = (state: State, now: number): number => {
  const left = state.wait === undefined ? 0 : timeLeft(state.wait, now)
  return left % 1000 === 0 ? 1000 : left % 1000
}

/**
 * The wait as one line, for where nothing can be repainted.
 *
 * **Details**
 *
 * `undefined` when nothing is due: a line when the wait begins, and one each time that its rest falls below a multiple of
 * `REMINDER_MS`. `said` is what was left when the last line was written.
 */
export const plainLine = (
  wait: TurnEvent.ProviderRetry,
  now: number,
  said: number | undefined,
  timeOfDay: Surroundings["timeOfDay"]
): string | undefined => {
  const left = timeLeft(wait, now)
  if (said === undefined && wait.asks !== undefined) {
    return `${Prose.oneLine(wait.asks.message)} - ${lowerCase(nextOf(wait, left, timeOfDay))}`
  }
  if (said === undefined) {
    const when = isAtOnce(wait) ? atOnce(wait) : `in ${Span.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
    return `${fault(wait)} - retry ${ordinal(wait)} ${when}`
  }
  return left > 0 && Math.ceil(left / REMINDER_MS) < Math.ceil(said / REMINDER_MS)
    ? wait.asks === undefined
      ? `retry ${ordinal(wait)} in ${Span.countdown(left)}`
      : lowerCase(nextOf(wait, left, timeOfDay))
    : undefined
}

/** A log of a night has a hundred such lines, not thirty thousand. */
export const REMINDER_MS = 5 * 60_000

// --- internal

/** More than this of an error page tells nobody anything. */
const MESSAGE_LINES = 3

const line = (tone: Tone, text: string): Output => ({ _tag: "Line", tone, text })

const hasText = ({ hasAnswered, isAnswering }: State): boolean => isAnswering || hasAnswered

/** `retry 3`, or `3/10` where there is a limit; people count from 1. */
const ordinal = (wait: TurnEvent.ProviderRetry): string =>
  wait.maxAttempts === undefined ? `${wait.attempt + 1}` : `${wait.attempt + 1}/${wait.maxAttempts}`

/** It goes on elsewhere, without a wait (P7, P8). */
const isAtOnce = ({ delayMs }: TurnEvent.ProviderRetry): boolean => delayMs <= 0

const atOnce = ({ credential }: TurnEvent.ProviderRetry): string =>
  credential === undefined ? "at once" : `at once, with ${Prose.oneLine(credential)}`

const fault = ({ code, message, target }: TurnEvent.ProviderRetry): string => `${target}: ${coded(code, message)}`

/** Many a message begins with its status already. */
const coded = (code: string | undefined, message: string): string => {
  const text = Prose.oneLine(message)
  return code === undefined || text.startsWith(code) ? text : `${Prose.oneLine(code)} ${text}`
}

/** What follows a wait. One that asks leads to no retry by itself (X11). */
const nextOf = (wait: TurnEvent.ProviderRetry, left: number, timeOfDay: Surroundings["timeOfDay"]): string => {
  if (wait.asks !== undefined) {
    return `Gives up without an answer in ${Span.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
  }
  return left === 0
    ? `Retry ${ordinal(wait)} runs now …`
    : `Retry ${ordinal(wait)} in ${Span.countdown(left)}, at ${timeOfDay(wait.retryAt)}`
}

const lowerCase = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

/** What stays of a wait that is over. */
const over = ({ isAborting, wait }: State): ReadonlyArray<Output> => {
  if (wait === undefined) return []
  if (wait.asks !== undefined) return [line("wait", `? ${Prose.oneLine(wait.asks.message)}`)]
  // A wait that was cut short led to no retry.
  const when = isAtOnce(wait) ? atOnce(wait) : `after ${Span.format(wait.delayMs)}`
  const consequence = isAborting ? "" : ` - retry ${ordinal(wait)} ${when}`
  return [line("wait", `! ${fault(wait)}${consequence}`)]
}

const ending = (end: TurnEvent.TurnEnd): ReadonlyArray<Output> => {
  switch (end.status) {
    case "completed":
      return []
    case "aborted":
      return [line("failure", "Aborted.")]
    case "failed":
      return [line("failure", failed(end))]
    default:
      return end.status satisfies never
  }
}

const failed = ({ attempts, error, sleptMs, waitedMs }: TurnEvent.TurnEnd): string => {
  const what = error === undefined ? "no reason was given" : coded(Failure.codeOf(error), error.message)
  const waited = Words.waiting({ sleptMs, waitedMs })
  const tried = attempts <= 1 ? "" : ` (${attempts} attempts${waited === "" ? "" : `, ${waited}`})`
  return `Failed: ${what}${tried}`
}
