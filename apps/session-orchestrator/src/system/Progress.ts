/**
 * Logs how far an operation is that takes long: a migration, a take-over, the taking up of many turns.
 *
 * P1. An operation that is over within `PATIENCE_MS` has no line. A longer one has a line then, one each `INTERVAL_MS`, and one at its end.
 * P2. A line comes when time has passed, and when the operation reports where it is, whichever happens first: work that holds the
 *     thread lets no timer fire.
 */
import { Effect } from "effect"
import * as Span from "../text/Span.ts"

/** What is over by then, an operator does not wait for. */
export const PATIENCE_MS = 2_000

/** Between two lines. */
export const INTERVAL_MS = 5_000

export interface Progress {
  /** Reports where the operation is; as often as one likes: it costs a look at the clock. */
  readonly at: (where: () => string) => Effect.Effect<void>
}

/**
 * Runs an operation, and logs its progress.
 *
 * @param what names it at the beginning of a sentence: `Taking up unfinished turns`
 */
export const reported = <A, E, R>(
  what: string,
  run: (progress: Progress) => Effect.Effect<A, E, R>
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
      const progress: Progress = {
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

const spanOf = (ms: number): string => Span.format(Math.round(ms / 100) * 100)
