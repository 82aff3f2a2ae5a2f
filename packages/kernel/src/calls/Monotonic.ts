/**
 * Reads the monotonic clock in milliseconds.
 *
 * A change of the time of day neither ends nor prolongs what is measured with it.
 */
import type * as Clock from "effect/Clock"

/** The milliseconds since a fixed moment. Only differences have a meaning. */
export const millis = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
