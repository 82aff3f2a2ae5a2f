/**
 * The words about a retry, as rule P17 has them. Pure.
 *
 * Retries are counted from 1; events count from 0. A countdown never shows less than the time left, and never more than the wait was
 * long, whatever the clock does.
 */
import type { TurnEvent } from "@holdfast/wire"
import * as Foreign from "../text/Foreign.ts"

/** What is shown of a wait. */
export type Wait = Pick<
  TurnEvent.ProviderRetry,
  "attempt" | "delayMs" | "retryAt" | "message" | "code" | "maxAttempts" | "asks" | "credential"
>

/** A time that is left: `90s`, and beyond two minutes `12m 30s` or `1h 5m 0s`. It is rounded up. */
export const duration = (ms: number): string => {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  if (seconds <= TWO_MINUTES) return `${seconds}s`
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}h ` : ""}${Math.floor((seconds % 3600) / 60)}m ${seconds % 60}s`
}

/** Milliseconds left of a wait. */
export const leftMs = ({ delayMs, retryAt }: Pick<Wait, "delayMs" | "retryAt">, now: number): number =>
  Math.max(0, Math.min(retryAt - now, Math.max(0, delayMs)))

/** The countdown: `Retrying (1/21) in 5s… (esc to cancel)`. A wait that asks has another: no retry follows by itself. */
export const countdown = (wait: Wait, now: number, hint = "esc to cancel"): string => {
  const left = duration(leftMs(wait, now))
  if (wait.asks === undefined) return `Retrying (${ordinal(wait)}) in ${left}… (${hint})`
  return wait.asks.because === "tools"
    ? `Refused in ${left} without an answer (/approve, /refuse why)`
    : `Gives up in ${left} without an answer (/now goes on, ${hint})`
}

/** The tool calls that wait for a person, one line each. */
export const askedCalls = ({ asks }: Wait): ReadonlyArray<string> =>
  (asks?.calls ?? []).map(({ quoted, toolName }) => Foreign.oneLine(`? ${toolName} ${quoted}`))

/** The warning that is shown as soon as the wait is known: `⚠ Overloaded (529), retrying in 5s…`. */
export const warning = (wait: Wait): string => {
  const what = coded(wait.message, wait.code)
  if (wait.asks !== undefined) return `⚠ ${Foreign.oneLine(wait.asks.message)}`
  if (wait.delayMs > 0) return `⚠ ${what}, retrying in ${duration(wait.delayMs)}…`
  const which = wait.credential === undefined ? "" : ` with ${Foreign.oneLine(wait.credential)}`
  return `⚠ ${what}, retrying at once${which}…`
}

/** The end of a chain that led to no answer. A cancelled one has the error `Retry cancelled`. */
export const ended = ({ attempt, finalError }: Pick<TurnEvent.RetryEnd, "attempt" | "finalError">): string => {
  const attempts = attempt + 1
  const why = finalError === undefined ? "no reason was given" : Foreign.oneLine(finalError)
  return `Retry failed after ${attempts} attempt${attempts === 1 ? "" : "s"}: ${why}`
}

/** A message on one line, with its code in brackets unless it already begins with it. */
export const coded = (message: string, code: string | undefined): string => {
  const text = Foreign.oneLine(message)
  const known = code === undefined ? "" : Foreign.oneLine(code)
  return known === "" || text.startsWith(known) ? text : `${text} (${known})`
}

/** Milliseconds until a countdown changes, at most a second. */
export const untilChange = (wait: Wait, now: number): number => {
  const left = leftMs(wait, now)
  return left % 1000 === 0 ? 1000 : left % 1000
}

// --- internal

const TWO_MINUTES = 120

const ordinal = ({ attempt, maxAttempts }: Wait): string =>
  maxAttempts === undefined ? `${attempt + 1}` : `${attempt + 1}/${Math.max(maxAttempts, attempt + 1)}`
