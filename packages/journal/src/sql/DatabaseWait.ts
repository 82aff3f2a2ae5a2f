/**
 * Waits for a busy or silent database, within limits.
 *
 * The limits are long enough for a backup to begin, a person's query to end or a server to restart, and short enough that a caller gets
 * an answer within ten seconds.
 *
 * - The limit is a time, not a number of tries: a single try can take all of it.
 * - After its limit a caller does not wait for the end of the effect. A statement on a silent connection cannot be ended at once.
 */
import { Monotonic } from "@holdfast/kernel/host"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/** Between two tries: short enough to find the gap between two transactions of another program. */
const INTERVAL = Duration.millis(100)

/** No pause between two tries begins later than this after the first try. */
export const BUSY_LIMIT = Duration.seconds(5)

/** A database without an answer for this long counts as away. A page of a history, or a commit of many turns, takes a hundredth of it. */
export const SILENCE_LIMIT = Duration.seconds(8)

/** Retries an effect while `isBusy` holds for its error, until `BUSY_LIMIT` has passed since the first try. */
export const whileBusy =
  <E>(isBusy: (error: E) => boolean) =>
  <A, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const until = Monotonic.millis(clock) + Duration.toMillis(BUSY_LIMIT)
      const again: Effect.Effect<A, E, R> = Effect.catchIf(Effect.delay(effect, INTERVAL), isBusy, (error) =>
        Monotonic.millis(clock) < until ? again : Effect.fail(error)
      )
      return Effect.catchIf(effect, isBusy, () => again)
    })

/**
 * Fails when an effect has not ended within a limit, also in an uninterruptible region. The effect is interrupted then, without waiting
 * for its end.
 */
export const within = <E>(limit: Duration.Duration, silent: () => E) =>
  unless<E>(Effect.flatMap(Effect.sleep(limit), () => Effect.fail(silent())))

/** Runs an effect, and fails as soon as `trouble` fails; the effect is then interrupted as `within` does at its limit. */
export const unless =
  <E>(trouble: Effect.Effect<never, E>) =>
  <A, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.context<R>(), (context) =>
      Effect.callback<A, E>((resume) => {
        const fork = Effect.runForkWith(context)
        const work = fork(effect)
        const watch = fork(trouble)
        let isOver = false
        const end = (loser: Fiber.Fiber<unknown, E>) => (exit: Exit.Exit<A, E>) => {
          if (isOver) return
          isOver = true
          loser.interruptUnsafe()
          resume(exit)
        }
        work.addObserver(end(watch))
        watch.addObserver(end(work))
        return Effect.sync(() => {
          work.interruptUnsafe()
          watch.interruptUnsafe()
        })
      })
    )
