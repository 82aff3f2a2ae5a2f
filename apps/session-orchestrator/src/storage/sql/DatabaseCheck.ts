/**
 * Checks whether the database reads and writes, once for all callers.
 *
 * A runner's callers check the database when they wait long for an owner. A crowd that waits because the machine is busy would otherwise
 * send a query each, every second, and fail when these queries queue up.
 *
 * DatabaseCheck.C1. One probe runs at a time. Callers that arrive meanwhile get its outcome.
 * DatabaseCheck.C2. A probe without an answer in time fails, unless the database answered another commit meanwhile: then it is busy.
 */
import { DatabaseWait } from "@holdfast/journal/sql"
import { Clock, Deferred, type Duration, Effect } from "effect"

interface Options<E> {
  /** Reads and writes a row. */
  readonly probe: (now: number) => Effect.Effect<void, E>
  readonly limit: Duration.Duration
  /** The error of a probe without an answer in time. */
  readonly silence: () => E
  /** The number of commits that the database has answered. */
  readonly answers: () => number
}

/** A check that all callers share. */
export const make = <E>({ answers, limit, probe, silence }: Options<E>): Effect.Effect<void, E> => {
  let underWay: Deferred.Deferred<void, E> | undefined
  const once = Effect.suspend(() => {
    const before = answers()
    let isSilent = false
    return Effect.flatMap(Clock.currentTimeMillis, probe).pipe(
      DatabaseWait.within<E>(limit, () => {
        isSilent = true
        return silence()
      }),
      Effect.catchIf(
        () => isSilent && answers() > before,
        () => Effect.void // DatabaseCheck.C2
      )
    )
  })
  return Effect.suspend(() => {
    if (underWay !== undefined) return Deferred.await(underWay) // DatabaseCheck.C1
    const outcome = Deferred.makeUnsafe<void, E>()
    underWay = outcome
    // Runs on when its caller is interrupted: others wait for it.
    return Effect.andThen(
      Effect.forkDetach(
        Effect.onExit(once, (exit) =>
          Effect.sync(() => {
            underWay = undefined
            Deferred.doneUnsafe(outcome, exit)
          })
        ),
        { startImmediately: true }
      ),
      Deferred.await(outcome)
    )
  })
}
