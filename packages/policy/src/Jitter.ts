/**
 * Chance on top of a delay, so that those who failed together do not come back together.
 *
 * J1. Jitter only adds (P5): a delay that a provider asked for is a lower bound, and so is the schedule's.
 * J2. Chance is an argument, `spread`, drawn from 0 (included) to 1 (excluded); the same spread gives the same jitter.
 */

/** Adds from nothing up to `factor` times the delay. `factor` is from 0 to 1. */
export interface Jitter {
  readonly factor: number
}

/** Adds nothing. */
export const none: Jitter = { factor: 0 }

/** What to add to a delay, in whole milliseconds: from 0 up to, and not including, `factor` times the delay. */
export const jitterMs = (jitter: Jitter, delayMs: number, spread: number): number =>
  Math.floor(delayMs * jitter.factor * spread)
