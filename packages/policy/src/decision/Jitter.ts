/**
 * Adds random jitter to a delay, to spread simultaneous retries.
 *
 * It only adds (P5): a provider's hint is a lower bound, and so is the schedule's delay. The random draw is an argument: `spread`, from
 * 0 (included) to 1 (excluded).
 */

/** Adds from 0 up to `factor` times the delay. `factor` is from 0 to 1. */
export interface Jitter {
  readonly factor: number
}

/** Adds nothing. */
export const none: Jitter = { factor: 0 }

/** Returns the jitter of a delay, in whole milliseconds: from 0 up to, and not including, `factor` times the delay. */
export const jitterMs = (jitter: Jitter, delayMs: number, spread: number): number =>
  Math.floor(delayMs * jitter.factor * spread)
