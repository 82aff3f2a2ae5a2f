/** How a life of a turn ends at a wait, for hosts that keep no waiting turn in memory. */
import * as Data from "effect/Data"

/**
 * A turn leaves memory for the time of a wait. This life of it ends, unsealed; its last record is the decision to wait.
 *
 * **Details**
 *
 * A `RetryStrategy` fails with it instead of sleeping. The host runs the turn again from its records at `retryAt` or later, or as soon as
 * there is a command for it. That run reaches the same wait, and sleeps the rest of it.
 *
 * **Gotchas**
 *
 * It is no `Error`, because nothing failed and ten thousand turns may park at once: a stack trace costs 8 us for each, this value 0.1 us.
 */
export class TurnParked extends Data.TaggedClass("TurnParked")<{
  /** When the wait ends, in epoch milliseconds. */
  readonly retryAt: number
}> {}
