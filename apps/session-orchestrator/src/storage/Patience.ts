/**
 * How long Holdfast waits for another program's lock on the database: long enough for a backup to begin or a person's query
 * to end, and without stopping anything but the waiting operation.
 */
import { Effect, Schedule } from "effect"

/** Often enough to slip in between two transactions of the other program. */
const INTERVAL = "100 millis"
const TRIES = 50

const retries = { schedule: Schedule.spaced(INTERVAL), times: TRIES - 1 }

/** Runs an effect again while it fails for being locked out, for about five seconds. */
export const whileBusy =
  <E>(isBusy: (error: E) => boolean) =>
  <A, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    // The schedule comes into it when there is something to wait for: reads are many, and locks are rare.
    Effect.catchIf(effect, isBusy, () => Effect.delay(Effect.retry(effect, { while: isBusy, ...retries }), INTERVAL))
