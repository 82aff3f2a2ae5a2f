/**
 * Decides when a wait is over: a pure function of its end and of two clocks (`next`).
 *
 * A wait has an absolute end. The wall clock shows that end but can be set. The monotonic clock cannot be set but stops while the machine
 * is suspended (on Linux; on other systems it may continue). Neither is right alone, so both are read.
 *
 * On these two clocks a step forward looks exactly like a suspension, and counts as one. That is the usual cause on a laptop, and in a
 * container or virtual machine on a laptop, where even the kernel's own count of suspended time stops. A wrong guess costs one early
 * attempt; the opposite mistake would delay a turn by the whole time of the suspension.
 *
 * Read: Node issues 6763, 20661, 47724; clock_gettime(2), CLOCK_MONOTONIC.
 */

/** The values of both clocks at one moment. */
export interface Readings {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Milliseconds since an unknown moment. */
  readonly monotonicMs: number
}

/** A wait that has begun. */
export interface Wait {
  /** When it is over by the wall clock, in epoch milliseconds. */
  readonly endMs: number
  /** When it is over by the monotonic clock. */
  readonly deadlineMs: number
}

/** What to do about a wait: `Done` when it is over; `Sleep` and read the clocks again after `sleepMs`. */
export type Next = { readonly _tag: "Done" } | { readonly _tag: "Sleep"; readonly sleepMs: number }

/** The longest sleep between two readings: a machine that resumes finds its due turns within this time. */
export const LONGEST_CHUNK_MS = 30_000

/** Begins a wait that ends at `endMs` of the wall clock, in epoch milliseconds. A past end is over at once; infinity never ends. */
export const until = (endMs: number, now: Readings): Wait => ({
  endMs,
  deadlineMs: now.monotonicMs + (endMs - now.wallMs)
})

/**
 * Decides what to do next about a wait, at a reading of the clocks.
 *
 * - A wait is over at the first reading at which the wall clock has reached its end, or the monotonic clock has counted
 *   its length. It is never over before either.
 * - A clock that is set back does not prolong a wait: it takes no longer than its length, counted by the monotonic clock.
 * - Time in suspension counts: when a machine resumes after the end, the next reading finds the wait over, and readings are no
 *   further apart than `LONGEST_CHUNK_MS`.
 * - A clock that is set forward shortens a wait by no more than the step, and by nothing if it is set back before the end. The
 *   end is not missed either, however far the clock jumps.
 * - Readings are as far apart as possible, and at least 1 ms; so a length beyond 2^31-1 ms needs no special case.
 */
export const next = (wait: Wait, now: Readings): Next => {
  const leftMs = Math.min(wait.endMs - now.wallMs, wait.deadlineMs - now.monotonicMs)
  return leftMs <= 0
    ? { _tag: "Done" }
    : { _tag: "Sleep", sleepMs: Math.min(Math.max(Math.ceil(leftMs), 1), LONGEST_CHUNK_MS) }
}
