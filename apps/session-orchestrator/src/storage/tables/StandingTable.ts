/**
 * Reads and writes the pauses of targets and credentials.
 *
 * There are few rows: the pauses in force, and some that have ended. A row that cannot be read (a newer version may have written it) is
 * ignored: that costs a refused call, where an error would stop every turn for as long as the row is in force. Older versions wrote a
 * single pause into a row.
 */
import { Standing } from "@holdfast/policy"
import { Array, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** The pauses in force at each of some moments, in epoch milliseconds. */
export const loadEach =
  (sql: SqlClient.SqlClient) =>
  (times: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<Standing.Standing>, SqlError.SqlError> =>
    Effect.map(sql`SELECT kind, name, pause FROM standings WHERE until > ${Math.min(...times)}`, (rows) => {
      const standing = standingOf(readable(rows))
      return times.map((now) => Standing.expire(standing, now))
    })

/** The findings of one turn at `now`, in epoch milliseconds. */
export interface Note {
  readonly changes: Standing.Standing
  readonly now: number
}

/** Adds the findings of turns, and deletes pauses that have ended. */
export const note =
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
  pause: Schema.fromJsonString(Schema.Union([Standing.Entry, Standing.Pause]))
})
const decodeRow = Schema.decodeUnknownOption(Row)

const readable = (rows: ReadonlyArray<unknown>): ReadonlyArray<typeof Row.Type> =>
  Array.getSomes(rows.map((row) => decodeRow(row)))

const standingOf = (rows: ReadonlyArray<typeof Row.Type>): Standing.Standing => {
  const of = (kind: Standing.Kind) =>
    Object.fromEntries(rows.filter((row) => row.kind === kind).map(({ name, pause }) => [name, entryOf(pause)]))
  return { targets: of("targets"), credentials: of("credentials"), accounts: of("accounts"), models: of("models") }
}

const entryOf = (stored: Standing.Entry | Standing.Pause): Standing.Entry =>
  "pauses" in stored ? stored : { pauses: [stored] }

const rowsOf = (standing: Standing.Standing) =>
  Standing.KINDS.flatMap((kind) =>
    Object.entries(standing[kind]).map(([name, entry]) => ({
      kind,
      name,
      until: Standing.endOf(entry),
      pause: JSON.stringify(entry)
    }))
  )
