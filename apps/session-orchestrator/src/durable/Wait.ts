/**
 * When a wait is over: a plain function of its end and of two clocks.
 *
 * A wait has an absolute end. The wall clock knows that end but can be set; the monotonic clock cannot be set but stands
 * still while the machine is suspended (on Linux; elsewhere it may go on). Neither is right alone, so both are asked:
 *
 * T1. A wait is over at the first reading at which the wall clock has reached its end, or the monotonic clock has counted
 *     its length. It is never over before either.
 * T2. A clock set back does not prolong it: it takes no longer than its length, counted by the monotonic clock.
 * T3. Time asleep counts: a machine that wakes after the end finds the wait over at the next reading, and readings are no
 *     further apart than `LONGEST_CHUNK_MS`.
 * T4. A clock set forward shortens it by no more than the step, and by nothing if it is set back before the end comes. The
 *     end is not passed over either, however far the clock jumps.
 * T5. Readings are as long as possible apart, and at least 1 ms; so a length beyond 2^31-1 ms is like any other.
 *
 * **Gotchas**
 *
 * To these two clocks a step forward looks exactly like a suspension: the wall clock has gone on, the monotonic one has not.
 * It is taken for a suspension. That is what it is on a laptop, and in a container or virtual machine on one, where even
 * the kernel's own count of suspended time stands still. Being wrong costs one attempt that comes early; the other mistake
 * would hold a turn back for as long as the machine had slept.
 *
 * Read: Node issues 6763, 20661, 47724; clock_gettime(2), CLOCK_MONOTONIC.
 */

/** What the clocks show at one moment. */
export interface Readings {
  /** Epoch milliseconds. */
  readonly wallMs: number
  /** Milliseconds from an unknown moment on. */
  readonly monotonicMs: number
}

/** A wait that has begun. */
export interface Wait {
  /** When it is over by the wall clock, in epoch milliseconds. */
  readonly endMs: number
  /** When it is over by the monotonic clock. */
  readonly deadlineMs: number
}

/** What to do about a wait: nothing more, or look again after some sleep. */
export type Next = { readonly _tag: "Done" } | { readonly _tag: "Sleep"; readonly sleepMs: number }

/** A suspended machine wakes to its turns within this time (T3). */
export const LONGEST_CHUNK_MS = 30_000

/** Begins a wait that ends at a time of the wall clock. One that is past is over at once; infinity never comes. */
export const until = (endMs: number, now: Readings): Wait => ({
  endMs,
  deadlineMs: now.monotonicMs + (endMs - now.wallMs)
})

/** Decides what to do next. */
export const next = (wait: Wait, now: Readings): Next => {
  const leftMs = Math.min(wait.endMs - now.wallMs, wait.deadlineMs - now.monotonicMs) // T1, T2
  return leftMs <= 0
    ? { _tag: "Done" }
    : { _tag: "Sleep", sleepMs: Math.min(Math.max(Math.ceil(leftMs), 1), LONGEST_CHUNK_MS) } // T3, T5
}
