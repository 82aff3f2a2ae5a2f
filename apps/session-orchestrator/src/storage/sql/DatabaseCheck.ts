/**
 * Checks whether the database reads and writes, for all callers at once.
 *
 * A runner's callers check the database when they wait long for an owner. A crowd that waits because the machine is busy would otherwise
 * send a query each, every second, and fail when these queries queue up.
 *
 * DatabaseCheck.C1. One probe runs at a time. Callers that arrive meanwhile share the next one.
 * DatabaseCheck.C2. A probe without an answer in time fails, unless the database answered another commit meanwhile: then it is busy.
 */
import { DatabaseWait, GroupRead, type SqlDatabase, StorageFailure, type TableError } from "@holdfast/journal/sql"
import { Clock, Duration, Effect } from "effect"
import * as EventTable from "../tables/EventTable.ts"

/** The time limit, shorter than the limit after which a database counts as silent. */
const LIMIT = Duration.millis(1500)

type Dependencies = Pick<SqlDatabase.SqlDatabase, "health" | "lane" | "sql">

/** Makes a check that writes a row, and reads the pages that the next event would change. */
export const make = Effect.fnUntraced(function* ({
  health,
  lane,
  sql
}: Dependencies): Effect.fn.Return<Effect.Effect<void, TableError>> {
  const write = lane((times: ReadonlyArray<number>) =>
    Effect.as(sql`UPDATE probe SET probed_at = ${Math.max(...times)} WHERE probe_id = 1`, times)
  )
  // Savepoints succeed in commits that fail.
  const answers = () => (health.trouble === undefined ? health.commits : 0)
  const probe = yield* GroupRead.make(
    Infinity,
    (times: ReadonlyArray<number>) => {
      const before = answers()
      let isSilent = false
      return EventTable.probe(sql).pipe(
        Effect.andThen(write(Math.max(...times))),
        Effect.tap(() => Effect.sync(() => (health.trouble = undefined))),
        DatabaseWait.within<TableError>(LIMIT, () => {
          isSilent = true
          return health.trouble ?? StorageFailure.silence(LIMIT)
        }),
        Effect.catchIf(
          () => isSilent && answers() > before,
          () => Effect.void // DatabaseCheck.C2
        ),
        Effect.as(new Map<number, void>())
      )
    },
    () => true
  )
  return Effect.asVoid(Effect.flatMap(Clock.currentTimeMillis, probe))
})
