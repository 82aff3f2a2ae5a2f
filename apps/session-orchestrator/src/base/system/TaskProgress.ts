/**
 * Logs the progress of long operations: a take-over, resuming many turns.
 *
 * An operation that ends within `PATIENCE_MS` logs nothing. A longer one logs a line at that moment, then one per `INTERVAL_MS`, and one at
 * its end. A line is due by time. It is logged by a timer or when the operation reports its position, whichever comes first: an operation
 * that holds the thread lets no timer fire.
 */
import { Effect } from "effect"
import * as DurationText from "../text/DurationText.ts"

/** An operator does not notice a shorter operation. */
export const PATIENCE_MS = 2_000

/** Between two lines. */
const INTERVAL_MS = 5_000

/** Takes the position of a running operation. */
export interface TaskProgress {
  /** Reports the position of the operation. A call costs one read of the clock, so it may be frequent. */
  readonly at: (where: () => string) => Effect.Effect<void>
}

/**
 * Runs an operation and logs its progress.
 *
 * @param what names the operation at the beginning of a sentence: `Taking up unfinished turns`
 */
export const reported = <A, E, R>(
  what: string,
  run: (progress: TaskProgress) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) =>
    Effect.suspend(() => {
      const begunAt = clock.currentTimeMillisUnsafe()
      let dueAt = begunAt + PATIENCE_MS
      let where = (): string => ""
      const tookMs = () => clock.currentTimeMillisUnsafe() - begunAt
      const look = Effect.suspend(() => {
        const now = clock.currentTimeMillisUnsafe()
        if (now < dueAt) return Effect.void
        dueAt = now + INTERVAL_MS
        const place = where()
        return Effect.logInfo(`${what}: ${spanOf(now - begunAt)} so far${place === "" ? "" : `, ${place}`}.`)
      })
      const progress: TaskProgress = {
        at: (place) => {
          where = place
          return look
        }
      }
      const watch = Effect.sleep(PATIENCE_MS).pipe(
        Effect.andThen(look),
        Effect.andThen(Effect.forever(Effect.andThen(Effect.sleep(INTERVAL_MS), look)))
      )
      return Effect.raceFirst(run(progress), watch).pipe(
        Effect.tap(() =>
          tookMs() < PATIENCE_MS ? Effect.void : Effect.logInfo(`${what}: done after ${spanOf(tookMs())}.`)
        )
      )
    })
  )

// --- internal

const spanOf = (ms: number): string => DurationText.format(Math.round(ms / 100) * 100)
