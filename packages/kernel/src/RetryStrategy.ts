/**
 * The port to a policy. Without this service there are no retries: the first error ends the step (D9).
 *
 * `decide` decides and never sleeps; `sleep` sleeps and never decides. The kernel records what was decided before a sleep begins, so a
 * policy that changes overnight changes no wait that has begun.
 */
import type { Failure, Message, TurnEvent } from "@holdfast/wire"
import { Context, type Duration, type Effect, Schema } from "effect"
import type { ProviderRequest } from "./Provider.ts"
import type { Wake } from "./Records.ts"
import type { Route } from "./Route.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"

export { Command, Wake } from "./Records.ts"

/** Whether a wait is over with it, and not just a part of it. */
export const endsWait = ({ type }: Wake): boolean => type !== "until" && type !== "extended" && type !== "asked"

/**
 * How long a wait really took, in milliseconds, by its decision and what it met with. One that no record ends has lasted until `now`.
 */
export const waitedMs = (
  { delayMs, retryAt }: { readonly delayMs: number; readonly retryAt: number },
  wakes: ReadonlyArray<Wake>,
  now: number
): number => {
  const moved = wakes.findLast((wake) => wake.type === "until" || wake.type === "asked")
  const end = wakes.find(endsWait)
  const endedAt = end === undefined ? now : (end.at ?? moved?.until ?? retryAt)
  return Math.max(0, endedAt - (retryAt - delayMs))
}

/** A sleep that could not be slept. It ends the turn: there is no retry without its sleep (D14). */
export class SleepFailure extends Schema.TaggedError<SleepFailure>()("SleepFailure", {
  message: Schema.String
}) {}

/** What a sleep is for. */
export interface Awaited {
  /** Where the attempt behind it goes. */
  readonly route: Route
  /** What has failed. */
  readonly failure: Failure.Failure
  /** When the wait began, in epoch milliseconds. */
  readonly since: number
  /** When it is to end, in epoch milliseconds. */
  readonly retryAt: number
  /** That end was chosen by somebody (X4), or is the end of the time for an answer (X11): nothing but a person wakes it before. */
  readonly isMoved: boolean
}

/** What a step has spent on retries by the time of a failure. */
export interface Spent {
  /** Sleep that was scheduled, in milliseconds. */
  readonly sleptMs: number
  /** Since the first failure of the step, by the injected clock, in milliseconds (D2). */
  readonly elapsedMs: number
  /** What somebody added to the budget of this step (X4), in milliseconds. Absent: nothing. */
  readonly extendedMs?: number
  /** The part of it that failures of the same reason have cost (X11). Absent: all of it. */
  readonly onReason?: SpentOnReason
  /** Drawn for this failure, from 0 (included) to 1 (excluded): what jitter is made from. */
  readonly spread: number
}

/** What failures of one reason have cost a step. */
export interface SpentOnReason {
  /** Retries that followed them. */
  readonly retries: number
  /** Sleep that was scheduled for them, in milliseconds. */
  readonly sleptMs: number
  /** Since the first of them, in milliseconds. */
  readonly elapsedMs: number
}

/** What a wait has led to: the attempt that comes next, and what there has been. */
export interface Outlook {
  /** How long the step has waited since a person last had a say, in milliseconds. */
  readonly waitedMs: number
  /** What the turn's responses have cost so far. */
  readonly usage: Message.Usage
  readonly request: Pick<ProviderRequest, "messages" | "tools" | "target"> & { readonly system: string | undefined }
}

/** A question to a person. */
export interface Question {
  readonly asks: TurnEvent.Asks
  /** How long there can be an answer, in milliseconds. */
  readonly answerWithinMs: number
}

/** What a strategy has decided, and what from. */
export interface Decision {
  /** The wait before the retry; absent: there is no retry. */
  readonly delay?: Duration.Duration
  /** What the decision was made from, for the record (X9). */
  readonly basis?: Schema.Json
}

/** The limits of a strategy, for those who show them. Absent means none. */
export interface Budget {
  readonly totalMs?: number
  readonly measure: "scheduled" | "wall-clock"
  readonly maxRetries?: number
}

/** What is left of a budget, in milliseconds: below 0 where more was spent than there was, `Infinity` without a total (D2, X4). */
export const leftMs = (
  { measure, totalMs }: Pick<Budget, "measure" | "totalMs">,
  { elapsedMs, extendedMs = 0, sleptMs }: Pick<Spent, "elapsedMs" | "extendedMs" | "sleptMs">
): number => {
  if (totalMs === undefined) return Infinity
  // A clock that was set back gives nothing back that the budget did not have.
  return totalMs + extendedMs - Math.max(0, measure === "scheduled" ? sleptMs : elapsedMs)
}

/** Decides whether and when a failed attempt is made again, and waits. */
export class RetryStrategy extends Context.Service<
  RetryStrategy,
  {
    /**
     * The wait before retry `attempt` (0-based), or `undefined` to give up. Pure.
     *
     * **Details**
     *
     * Without `failure` and `spent` it answers for an endpoint that gives no hints, with every earlier delay slept to the end
     * and no jitter: the schedule as one would print it.
     */
    readonly delayFor: (attempt: number, failure?: Failure.Failure) => Duration.Duration | undefined
    /** Decides about a failure, whose retry would be number `attempt` (0-based); `undefined`: there is none. Pure. */
    readonly decide: (attempt: number, failure: Failure.Failure, spent: Spent) => Decision | undefined
    /**
     * Waits. Interruptible; correct for any finite duration (D11). The kernel says what for.
     *
     * **Details**
     *
     * With `TurnParked` the turn leaves memory for the time of the wait: it ends unsealed, and is run again from its records.
     */
    readonly sleep: (
      delay: Duration.Duration,
      awaited?: Awaited
    ) => Effect.Effect<Wake, SleepFailure | TurnParked | TurnStopped>
    /** What has to be asked before the attempt that a wait has led to (X11); `undefined`: nothing. Pure. Absent: never anything. */
    readonly ask?: (outlook: Outlook) => Question | undefined
    readonly budget: Budget
  }
>()("@holdfast/kernel/RetryStrategy") {}
