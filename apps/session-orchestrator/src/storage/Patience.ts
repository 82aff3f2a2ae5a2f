/**
 * How long Holdfast waits for a database that is busy or silent: long enough for a backup to begin, a person's query to end or a server
 * to restart, and short enough that a caller gets an answer within ten seconds.
 *
 * P1. Time counts, not tries: one try can take as long as all of them may.
 * P2. A caller does not wait for the end of what it has given up on. A statement on a connection that is silent cannot be ended at once.
 */
import { Clock, Duration, Effect, type Exit, type Fiber } from "effect"

/** Often enough to slip in between two transactions of the other program. */
const INTERVAL = Duration.millis(100)

/** No try begins after this. */
export const BUSY_LIMIT = Duration.seconds(5)

/** A database that has not answered within this is away. A page of a history, or a commit of a crowd, takes a hundredth of it. */
export const SILENCE_LIMIT = Duration.seconds(8)

/** Runs an effect again while it fails for being locked out, until `BUSY_LIMIT` has passed since its first try (P1). */
export const whileBusy =
  <E>(isBusy: (error: E) => boolean) =>
  <A, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const until = nowMs(clock) + Duration.toMillis(BUSY_LIMIT)
      const again: Effect.Effect<A, E, R> = Effect.catchIf(Effect.delay(effect, INTERVAL), isBusy, (error) =>
        nowMs(clock) < until ? again : Effect.fail(error)
      )
      return Effect.catchIf(effect, isBusy, () => again)
    })

/**
 * Fails when an effect has not ended within a limit, in a region without interruption too. The effect is interrupted then, and nobody
 * waits for its end (P2).
 */
export const within = <E>(limit: Duration.Duration, silent: () => E) =>
  unless<E>(Effect.flatMap(Effect.sleep(limit), () => Effect.fail(silent())))

/** Fails as soon as something beside the effect fails. Then it does with the effect what `within` does at its limit. */
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

// --- internal

/** Not the wall clock: one that is set must not end a wait, nor prolong it. */
const nowMs = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
