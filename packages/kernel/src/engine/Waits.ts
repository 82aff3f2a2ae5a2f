/**
 * The waits of a turn: when they are announced, how long they are slept, and what a wake means.
 *
 * A wait that ends by itself may ask a person first (X11): once, and on record. From then on only a person ends it, or the end of the time
 * for an answer; an early wake by the shell does not.
 */
import { defined, type TurnEvent } from "@holdfast/wire"
import { isOfItself } from "../internal/machine/Decisions.ts"
import type { Command } from "../internal/machine/OpenCommands.ts"
import type { PendingRetry, RetryStrategy } from "../ports/RetryStrategy.ts"
import type { Wake } from "../records/Records.ts"

/** A wait for a retry, or for a person's answer about tool calls. */
export type Waiting = Extract<Command, { readonly _tag: "Wait" | "Ask" }>

/** A sleep to perform. Times are in epoch milliseconds. */
export interface Sleep {
  /** The end of the wait, as recorded. */
  readonly retryAt: number
  /** Milliseconds until then; no more than the wait is long, because the clock may have been set back since it began. */
  readonly leftMs: number
  /** Absent: it waits for an answer about tool calls. */
  readonly awaited?: PendingRetry
  /** The tool calls (by `toolCallId`) that a person has to approve. */
  readonly calls?: ReadonlyArray<string>
}

/** Returns the sleep of a wait at a moment in epoch milliseconds. */
export const sleepOf = (waiting: Waiting, now: number): Sleep => {
  const { delayMs, retryAt } = endOf(waiting)
  const leftMs = Math.max(0, Math.min(retryAt - now, delayMs))
  const awaited = waiting._tag === "Wait" ? waiting.awaited : undefined
  return { retryAt, leftMs, ...defined({ awaited, calls: callsOf(waiting) }) }
}

/** The tool calls (by `toolCallId`) that a wait has a question about; `undefined`: it is for a retry. */
export const callsOf = (waiting: Waiting): ReadonlyArray<string> | undefined =>
  asksOf(waiting)?.calls?.map(({ toolCallId }) => toolCallId)

/** Returns the record of a wake, received at a moment in epoch milliseconds; `undefined`: the wait continues without one. */
export const wakeOf = (
  waiting: Waiting,
  wake: Wake,
  ask: RetryStrategy["Service"]["ask"],
  at: number
): (Wake & { readonly at: number }) | undefined => {
  if (!isOfItself(wake)) return { ...wake, at }
  if (asksOf(waiting) !== undefined && (wake.type !== "elapsed" || at < endOf(waiting).retryAt)) return undefined
  const outlook = waiting._tag === "Wait" ? waiting.outlook : undefined
  const question =
    outlook && waiting._tag === "Wait" ? ask?.(outlook(Math.max(0, at - waiting.awaited.since))) : undefined
  if (question === undefined) return { ...wake, at }
  const by = wake.by === undefined ? undefined : { by: wake.by }
  return { type: "asked", asks: question.asks, until: at + question.answerWithinMs, at, ...by }
}

// --- internal

const asksOf = (waiting: Waiting): TurnEvent.Asks | undefined =>
  waiting._tag === "Wait" ? waiting.wait.asks : waiting.asks

/** The end of a wait. A question that is not on record yet has none: it is recorded before it is slept. */
const endOf = (waiting: Waiting): { readonly delayMs: number; readonly retryAt: number } =>
  waiting._tag === "Wait" ? waiting.wait : (waiting.event ?? { delayMs: 0, retryAt: 0 })
