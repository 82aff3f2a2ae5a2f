/**
 * Takes up, at the start, the turns that the last process left.
 *
 * - A database that cannot be read is asked again every `INTERVAL`; until then the service reports that it is not ready, and why.
 * - Calls wait as long as for a silent database, and then fail with the error of the start.
 */
import { StorageError } from "@holdfast/journal"
import { DatabaseWait } from "@holdfast/journal/sql"
import { Duration, Effect, Schedule } from "effect"
import type { Condition } from "../../base/system/Condition.ts"
import * as Acceptance from "./Acceptance.ts"

/** Time between two tries to read the turns of the last process. */
const INTERVAL = "5 seconds"

/** Takes up the turns that the last process did not seal; ends when all are taken up. */
export const takeUp = (acceptance: Acceptance.Dependencies, condition: Condition["Service"]): Effect.Effect<void> =>
  Effect.andThen(
    condition.setStarting("The turns that the last process left unfinished are being taken up."),
    Effect.timed(Acceptance.takeUp(acceptance))
  ).pipe(
    Effect.tap(([duration, taken]) => loggedStart(acceptance, taken, duration)),
    Effect.tapError(({ message }) =>
      Effect.andThen(
        condition.setStarting(`The turns that the last process left unfinished could not be taken up yet: ${message}`),
        Effect.logError(`Unfinished turns could not be taken up. ${message}`)
      )
    ),
    Effect.retry(Schedule.spaced(INTERVAL)),
    Effect.orDie,
    Effect.andThen(condition.setStarting(undefined))
  )

const loggedStart = (
  { tenancy: { predecessor } }: Acceptance.Dependencies,
  { turns, waiting }: Acceptance.TakenUp,
  duration: Duration.Duration
): Effect.Effect<void> =>
  turns === 0
    ? Effect.void
    : Effect.logInfo(
        `Took up ${turns} unfinished turn(s) in ${Math.round(Duration.toMillis(duration))} ms, from ` +
          `${predecessor === undefined ? "the last process" : `${predecessor}, which died`}; ` +
          `${waiting} of them ${waiting === 1 ? "waits" : "wait"} for their time.`
      )

/** Waits until the start is done. */
export const startDone = ({ isStarted, started, starting }: Condition["Service"]): Effect.Effect<void, StorageError> =>
  Effect.suspend(() =>
    isStarted()
      ? Effect.void
      : Effect.timeoutOrElse(started, {
          duration: DatabaseWait.SILENCE_LIMIT,
          orElse: () =>
            Effect.flatMap(starting, (work) =>
              work === undefined ? Effect.void : Effect.fail(new StorageError({ message: work }))
            )
        })
  )
