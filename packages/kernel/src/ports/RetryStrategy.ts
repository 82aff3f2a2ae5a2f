/**
 * The port to a retry policy: decides about failures, and waits.
 *
 * A strategy is `delayFor`, `sleep` and `budget`; the rest is optional. Without this service there are no retries: the first error ends the
 * step (D9). `decide` never sleeps, and `sleep` never decides. The kernel records each decision before its sleep begins, so a policy that
 * changes overnight does not change a wait that has begun.
 */
import type { Failure, Message, TurnEvent } from "@holdfast/wire"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ProviderRequest } from "./Provider.ts"
import type { Wake } from "../records/Records.ts"
import type { Route } from "../records/Route.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"

export { Command, Wake } from "../records/Records.ts"

/** Whether a wake ends the whole wait, not only a part of it. */
export const endsWait = ({ type }: Wake): boolean => !["until", "extended", "asked", "answered"].includes(type)

/** Whether a command has an effect on a wait for answers about these tool calls; `undefined`: on a wait for a retry. */
export const fits = (wake: Wake, calls: ReadonlyArray<string> | undefined): boolean => {
  if (wake.type === "answered") return calls?.includes(wake.toolCallId) === true
  return calls === undefined || wake.type === "until" || wake.type === "cancelled"
}

/** Whether the shell ended a wait before its time (X5). The attempt that follows counts nothing if it fails before that time. */
export const isEarly = (wake: Wake): boolean => wake.type === "now" && wake.early === true

/** A wait as its decision states it. Times are in epoch milliseconds. */
interface Decided {
  readonly delayMs: number
  readonly retryAt: number
  readonly since?: number
}

/** Returns when a wait began, in epoch milliseconds. */
export const sinceOf = ({ delayMs, retryAt, since = retryAt - delayMs }: Decided): number => since

/**
 * Returns how long a wait really took, in milliseconds, by its decision and its wakes. A wait without an end in the records has lasted
 * until `now`.
 */
export const waitedMs = (decided: Decided, wakes: ReadonlyArray<Wake>, now: number): number => {
  const moved = wakes.findLast((wake) => wake.type === "until" || wake.type === "asked")
  const end = wakes.find(endsWait)
  const endedAt = end === undefined ? now : (end.at ?? moved?.until ?? decided.retryAt)
  return Math.max(0, endedAt - sinceOf(decided))
}

/** A sleep that failed. It ends the turn: there is no retry without its sleep (D14). */
export class SleepFailure extends Data.TaggedError("SleepFailure")<{ readonly message: string }> {}

/** The retry that a sleep waits for. */
export interface PendingRetry {
  /** The route of the attempt after the sleep. */
  readonly route: Route
  /** The failure that the sleep follows. */
  readonly failure: Failure.Failure
  /** When the wait began, in epoch milliseconds. */
  readonly since: number
  /** When it is to end, in epoch milliseconds. */
  readonly retryAt: number
  /** The delay of the schedule that it is for, in milliseconds: longer than the wait after a hold or an early attempt (X5). */
  readonly delayMs: number
  /** `retryAt` was chosen by a person (X4), or is the end of the time for an answer (X11): only a person wakes it before. */
  readonly isMoved: boolean
  /** The basis of the decision, as the strategy gave it. */
  readonly basis?: Schema.Json
}

/** The amounts that a step has spent on retries by the time of a failure. */
export interface Spent {
  /** Sleep that was scheduled, in milliseconds. */
  readonly sleptMs: number
  /** Since the first failure of the step, by the injected clock, in milliseconds (D2). */
  readonly elapsedMs: number
  /** The amount that a person added to the budget of this step (X4), in milliseconds. Absent: nothing. */
  readonly extendedMs?: number
  /** The share of failures with the same reason (X11). Absent: all of it. */
  readonly onReason?: SpentOnReason
  /** Drawn for this failure, from 0 (included) to 1 (excluded); jitter is computed from it. */
  readonly spread: number
}

/** The amounts that a step has spent on failures of one reason. */
export interface SpentOnReason {
  /** Retries that followed them. */
  readonly retries: number
  /** Sleep that was scheduled for them, in milliseconds. */
  readonly sleptMs: number
  /** Since the first of them, in milliseconds. */
  readonly elapsedMs: number
}

/** The state after a wait: the request of the next attempt, and the time and tokens spent so far. */
export interface Outlook {
  /** How long the step has waited since a person last sent a command, in milliseconds. */
  readonly waitedMs: number
  /** The tokens of the turn's responses so far. */
  readonly usage: Message.Usage
  /** The step's attempts with void content since a person last sent a command (X7). Absent: none. */
  readonly voids?: number
  /** The turn's attempts with void content whose provider had not reported their tokens, so that `usage` lacks them. Absent: none. */
  readonly unreported?: number
  readonly request: Pick<ProviderRequest, "messages" | "tools" | "target"> & { readonly system: string | undefined }
}

/** A question to a person. */
export interface Question {
  readonly asks: TurnEvent.Asks
  /** The time for an answer, in milliseconds. */
  readonly answerWithinMs: number
}

/** The decision of a strategy, and its basis. */
export interface Decision {
  /** The wait before the retry; absent: there is no retry. */
  readonly delay?: Duration.Duration
  /** The part of it that the provider asked for: it is never shorter. Absent: nothing. */
  readonly atLeast?: Duration.Duration
  /** The basis of the decision, for the record (X9). */
  readonly basis?: Schema.Json
}

/** The limits of a strategy. Absent means none. */
export interface Budget {
  readonly totalMs?: number
  readonly measure: "scheduled" | "wall-clock"
  readonly maxRetries?: number
}

/** Returns the rest of a budget, in milliseconds: below 0 if more than the total was spent, `Infinity` without a total (D2, X4). */
export const leftMs = (
  { measure, totalMs }: Pick<Budget, "measure" | "totalMs">,
  { elapsedMs, extendedMs = 0, sleptMs }: Pick<Spent, "elapsedMs" | "extendedMs" | "sleptMs">
): number => {
  if (totalMs === undefined) return Infinity
  // A clock that was set back must not raise the budget above its total.
  return totalMs + extendedMs - Math.max(0, measure === "scheduled" ? sleptMs : elapsedMs)
}

/** The part of a strategy that decides. */
export type Deciding = Pick<RetryStrategy["Service"], "delayFor" | "decide" | "budget">

/** Decides as the strategy does; a strategy without `decide` retries after `delayFor`, as long as the wait fits into its budget. */
export const decide = (
  { budget, decide, delayFor }: Deciding,
  attempt: number,
  failure: Failure.Failure,
  spent: Spent
): Decision | undefined => {
  if (decide !== undefined) return decide(attempt, failure, spent)
  const delay = attempt < (budget.maxRetries ?? Infinity) ? delayFor(attempt, failure) : undefined
  return delay === undefined || Duration.toMillis(delay) > leftMs(budget, spent) ? undefined : { delay }
}

/** Decides whether and when a failed attempt is retried, and waits. */
export class RetryStrategy extends Context.Service<
  RetryStrategy,
  {
    /**
     * The wait before retry `attempt` (0-based), or `undefined` to give up. Pure.
     *
     * **Details**
     *
     * Without `failure` it assumes an endpoint without hints, earlier delays that were slept to the end, and no jitter: this is the
     * schedule as one would print it.
     */
    readonly delayFor: (attempt: number, failure?: Failure.Failure) => Duration.Duration | undefined
    /**
     * Decides about a failure; its retry would be number `attempt` (0-based). `undefined`: there is no retry. Pure. Absent: the schedule of
     * `delayFor` within the budget decides.
     */
    readonly decide?: (attempt: number, failure: Failure.Failure, spent: Spent) => Decision | undefined
    /**
     * Waits. Interruptible; correct for any finite duration (D11). The kernel passes the retry that it waits for. Without a `Wake` as its
     * result the time has elapsed.
     *
     * **Details**
     *
     * If it fails with `TurnParked`, the turn leaves memory for the time of the wait: it ends unsealed, and runs again from its records.
     * Its time is `awaited.retryAt`, as recorded: `delay` was computed from it by a clock that has gone on since.
     *
     * With `calls` it waits for a person's answers to these tool calls (by `toolCallId`) instead of a retry: of the commands only
     * `answered` for one of them, `until` and `cancelled` have an effect.
     */
    readonly sleep: (
      delay: Duration.Duration,
      awaited?: PendingRetry,
      calls?: ReadonlyArray<string>
    ) => Effect.Effect<Wake | void, SleepFailure | TurnParked | TurnStopped>
    /**
     * Returns the question to a person before the attempt after a wait (X11), which was for `awaited`; `undefined`: none. Pure. Absent: there
     * are no questions.
     */
    readonly ask?: (outlook: Outlook, awaited?: PendingRetry) => Question | undefined
    /** Returns what follows a failure after content (X7). Pure. Absent: `fail`. */
    readonly midStream?: (failure: Failure.Failure) => TurnEvent.MidStream
    readonly budget: Budget
  }
>()("@holdfast/kernel/RetryStrategy") {}
