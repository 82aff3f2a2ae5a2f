/**
 * The port to a policy. Without this service there are no retries: the first error ends the step (D9).
 *
 * `delayFor` decides and never sleeps; `sleep` sleeps and never decides. The kernel records what was decided before it
 * lets anybody sleep, so a policy that changes overnight changes no wait that has begun.
 */
import type { Failure } from "@holdfast/wire"
import { Context, type Duration, type Effect, Schema } from "effect"
import type { TurnStopped } from "./TurnStopped.ts"

/** Why a sleep ended: its time was up; somebody wanted the next attempt now (X4); somebody cancelled the retry (P14). */
export const Wake = Schema.Literals(["elapsed", "now", "cancelled"])
export type Wake = typeof Wake.Type

/** A sleep that could not be slept. It ends the turn: there is no retry without its sleep (D14). */
export class SleepFailure extends Schema.TaggedError<SleepFailure>()("SleepFailure", {
  message: Schema.String
}) {}

/** What a step has spent on retries by the time of a failure. */
export interface Spent {
  /** Sleep that was scheduled, in milliseconds. */
  readonly sleptMs: number
  /** Since the first failure of the step, by the injected clock, in milliseconds (D2). */
  readonly elapsedMs: number
  /** Drawn for this failure, from 0 (included) to 1 (excluded): what jitter is made from. */
  readonly spread: number
}

/** The limits of a strategy, for those who show them. Absent means none. */
export interface Budget {
  readonly totalMs?: number
  readonly measure: "scheduled" | "wall-clock"
  readonly maxRetries?: number
}

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
    readonly delayFor: (attempt: number, failure?: Failure.Failure, spent?: Spent) => Duration.Duration | undefined
    /** Waits. Interruptible; correct for any finite duration (D11). */
    readonly sleep: (delay: Duration.Duration) => Effect.Effect<Wake, SleepFailure | TurnStopped>
    readonly budget: Budget
  }
>()("@holdfast/kernel/RetryStrategy") {}
