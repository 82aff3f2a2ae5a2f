/**
 * The rows of what is known about targets and credentials. There are few: those that are in force, and some that were.
 *
 * A row that cannot be read, as a newer version may have written it, is nothing known: it costs a call that is refused, where an
 * error would hold up every turn for as long as the row is in force.
 */
import { Standing } from "@holdfast/policy"
import { Array, Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** What is in force at `now`, in epoch milliseconds. */
export const load = (sql: SqlClient.SqlClient, now: number): Effect.Effect<Standing.Standing, SqlError.SqlError> =>
  Effect.map(sql`SELECT kind, name, pause FROM standings WHERE until > ${now}`, (rows) =>
    standingOf(Array.getSomes(rows.map((row) => decodeRow(row))))
  )

/** What one turn has found out, and when, in epoch milliseconds. */
export interface Note {
  readonly changes: Standing.Standing
  readonly now: number
}

/** Adds what turns have found out, and deletes what is over. */
export const note =
  (sql: SqlClient.SqlClient) =>
  (notes: ReadonlyArray<Note>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.gen(function* () {
      const now = Math.max(...notes.map((each) => each.now))
      const known = yield* load(sql, now)
      const changes = notes.reduce((all, each) => Standing.merge(all, each.changes), Standing.empty)
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

const Row = Schema.Struct({
  kind: Schema.Literals(["targets", "credentials"]),
  name: Schema.String,
  pause: Schema.fromJsonString(Standing.Pause)
})
const decodeRow = Schema.decodeUnknownOption(Row)

const standingOf = (rows: ReadonlyArray<typeof Row.Type>): Standing.Standing => {
  const of = (kind: keyof Standing.Standing) =>
    Object.fromEntries(rows.filter((row) => row.kind === kind).map(({ name, pause }) => [name, pause]))
  return { targets: of("targets"), credentials: of("credentials") }
}

const KINDS = ["targets", "credentials"] as const

const rowsOf = (standing: Standing.Standing) =>
  KINDS.flatMap((kind) =>
    Object.entries(standing[kind]).map(([name, pause]) => ({
      kind,
      name,
      until: pause.until,
      pause: JSON.stringify(pause)
    }))
  )
