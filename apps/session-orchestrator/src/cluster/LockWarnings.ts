/** Reports in words, once per outage, that a runner could not keep the locks of its shards, and why. */
import { StorageFailure } from "@holdfast/journal/sql"
import { Cause, Duration, Effect } from "effect"
import { ClusterError, type RunnerStorage } from "effect/cluster"
import { SqlError } from "effect/sql"

/** How often locks are refreshed, and what the cluster gives a refresh. */
export const REFRESH_LIMIT = Duration.seconds(3)

/** The cluster gives a refresh up at `REFRESH_LIMIT`, in its own words: before that it has failed here. */
export const ANSWER_LIMIT = Duration.seconds(2)

/**
 * The storage of runners, whose refused refreshes are logged.
 *
 * @param database its address without a password
 */
export const logged = (
  database: string,
  storage: RunnerStorage.RunnerStorage["Service"]
): RunnerStorage.RunnerStorage["Service"] => {
  let isReported = false
  const report = (error: ClusterError.PersistenceError) =>
    Effect.suspend(() => {
      if (isReported) return Effect.void
      isReported = true
      return Effect.logError(wordsFor(database, error))
    })
  return {
    ...storage,
    refresh: (address, shards) =>
      storage.refresh(address, shards).pipe(
        Effect.timeoutOrElse({ duration: ANSWER_LIMIT, orElse: () => Effect.fail(silent) }),
        Effect.tap(() => Effect.sync(() => void (isReported = false))),
        Effect.tapError(report)
      )
  }
}

// --- internal

const silent = new ClusterError.PersistenceError({ cause: new Cause.TimeoutError() })

const wordsFor = (database: string, { cause }: ClusterError.PersistenceError): string => {
  // Any other cause is a database that did not answer in time.
  const error = SqlError.isSqlError(cause) ? cause : StorageFailure.silence(ANSWER_LIMIT)
  const { message } = StorageFailure.explain(database, "keep the locks of this runner", error)
  return `${message} Its turns stop, and go on at the runner that has their locks next.`
}
