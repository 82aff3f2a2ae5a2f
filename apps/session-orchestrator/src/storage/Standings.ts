/**
 * Stores cooldowns and limits of targets and credentials (rules P7, P8).
 *
 * All turns and all runners of a database share them, and they survive a restart.
 *
 * Standings.N1. A noted pause is visible to all readers from then on. Noting it again changes nothing; of two pauses of one thing the
 *     later end stays (`Standing.merge`).
 */
import type { StorageError } from "@holdfast/journal"
import { Standing } from "@holdfast/policy"
import { Array, Context, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { SqlDatabase } from "@holdfast/journal/sql"

/** Stores the pauses of targets and credentials. */
export class Standings extends Context.Service<
  Standings,
  {
    /** The pauses in force at a moment in epoch milliseconds. */
    readonly load: (now: number) => Effect.Effect<Standing.Standing, StorageError>
    /** Adds the findings of a turn at a moment in epoch milliseconds; pauses that had ended by then may be deleted. */
    readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Standings") {}

/** The pauses in a database. */
export const make = Effect.fnUntraced(function* ({ failed, lane, sql, together }: SqlDatabase.SqlDatabase) {
  const read = yield* together(READS_AT_ONCE, loadEach(sql))
  const write = lane(note(sql))
  return Standings.of({
    load: (now) => read(now).pipe(failed("read which targets and credentials are better left alone")),
    note: (changes, now) =>
      write({ changes, now }).pipe(failed("record which targets and credentials are better left alone"))
  })
})

/** The pauses in force at each of some moments, in epoch milliseconds. */
const loadEach =
  (sql: SqlClient.SqlClient) =>
  (times: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<Standing.Standing>, SqlError.SqlError> =>
    Effect.map(sql`SELECT kind, name, pause FROM standings WHERE until > ${Math.min(...times)}`, (rows) => {
      const standing = standingOf(readable(rows))
      return times.map((now) => Standing.expire(standing, now))
    })

/** The findings of one turn at `now`, in epoch milliseconds. */
interface Note {
  readonly changes: Standing.Standing
  readonly now: number
}

/** Adds the findings of turns, and deletes pauses that have ended. */
const note =
  (sql: SqlClient.SqlClient) =>
  (notes: ReadonlyArray<Note>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.gen(function* () {
      const now = Math.max(...notes.map((each) => each.now))
      const changes = notes.reduce((all, each) => Standing.merge(all, each.changes), Standing.empty)
      const names = Array.dedupe(rowsOf(changes).map(({ name }) => name))
      const known = names.length === 0 ? Standing.empty : standingOf(readable(yield* held(sql, names)))
      const news = rowsOf(Standing.merge(known, changes)).filter(({ kind, name }) => changes[kind][name] !== undefined)
      yield* sql`DELETE FROM standings WHERE until <= ${now}`
      for (const row of news) {
        yield* sql`
          INSERT INTO standings ${sql.insert(row)}
          ON CONFLICT (kind, name) DO UPDATE SET until = excluded.until, pause = excluded.pause
          WHERE excluded.until >= standings.until`
      }
      return notes.map(() => undefined)
    })

// --- internal

/** Small rows a query. */
const READS_AT_ONCE = 64

/**
 * Reads the rows of some names and locks them until the transaction ends: of two runners that had read the same row, the second would
 * overwrite the changes of the first. Rows are locked in one order, which prevents a deadlock. SQLite has one writer anyway.
 */
const held = (sql: SqlClient.SqlClient, names: ReadonlyArray<string>) => {
  const lock = sql.onDialectOrElse({ pg: () => sql.literal("FOR UPDATE"), orElse: () => sql.literal("") })
  return sql`SELECT kind, name, pause FROM standings WHERE ${sql.in("name", names)} ORDER BY kind, name ${lock}`
}

const Row = Schema.Struct({
  kind: Schema.Literals(Standing.KINDS),
  name: Schema.String,
  pause: Schema.fromJsonString(Standing.Entry)
})
const decodeRow = Schema.decodeUnknownOption(Row)

const readable = (rows: ReadonlyArray<unknown>): ReadonlyArray<typeof Row.Type> =>
  Array.getSomes(rows.map((row) => decodeRow(row)))

const standingOf = (rows: ReadonlyArray<typeof Row.Type>): Standing.Standing => {
  const of = (kind: Standing.Kind) =>
    Object.fromEntries(rows.filter((row) => row.kind === kind).map(({ name, pause }) => [name, pause]))
  return { targets: of("targets"), credentials: of("credentials"), accounts: of("accounts"), models: of("models") }
}

const rowsOf = (standing: Standing.Standing) =>
  Standing.KINDS.flatMap((kind) =>
    Object.entries(standing[kind]).map(([name, entry]) => ({
      kind,
      name,
      until: Standing.endOf(entry),
      pause: JSON.stringify(entry)
    }))
  )
