/** The rows of a database, as a JSON file keeps them. */
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import * as DatabaseSchema from "../../src/storage/DatabaseSchema.ts"

type Row = Readonly<Record<string, string | number | null>>

export interface Snapshot {
  /** When the process was killed, in epoch milliseconds. */
  readonly recordedAt: number
  /** What each table holds. */
  readonly tables: Readonly<Record<string, ReadonlyArray<Row>>>
}

/** In the order in which they refer to each other. */
const TABLES = ["conversations", "turns", "events", "journal", "interruptions", "standings"] as const

/** The schema that recordings have. A released migration is never edited, so it can be made for ever. */
const VERSION_25 = { "0025_tables": DatabaseSchema.versions.migrations["0025_tables"] }

/** Reads all of it. */
export const read = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables: Record<string, ReadonlyArray<Row>> = {}
  for (const table of TABLES) {
    const rows = yield* sql<Record<string, string | number | bigint | null>>`SELECT * FROM ${sql(table)} ORDER BY 1, 2`
    tables[table] = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([key, value]) => [key, plain(value)]))
    )
  }
  return { recordedAt: Date.now(), tables } satisfies Snapshot
})

/** Writes it into an empty database, with the schema that it was recorded with, as if the process had been killed `agoMs` ago. */
export const write = Effect.fnUntraced(function* (snapshot: Snapshot, agoMs: number) {
  const shift = shifted(Date.now() - agoMs - snapshot.recordedAt)
  const sql = yield* SqlClient.SqlClient
  yield* Migrator.make({})({ loader: Migrator.fromRecord(VERSION_25), table: DatabaseSchema.versions.table })
  for (const table of TABLES) {
    for (const row of snapshot.tables[table] ?? []) yield* sql`INSERT INTO ${sql(table)} ${sql.insert(shift(row))}`
  }
  // Numbers go on behind those that were given.
  for (const table of ["conversations", "turns"] as const) {
    yield* sql.onDialectOrElse({
      pg: () => sql`SELECT setval(pg_get_serial_sequence(${table}, 'number'), (SELECT max(number) FROM ${sql(table)}))`,
      orElse: () => Effect.void
    })
  }
})

// --- internal

/** PostgreSQL's driver gives numbers of 64 bits as bigints. */
const plain = (value: string | number | bigint | null) => (typeof value === "bigint" ? Number(value) : value)

/** Moves every time of a row, in columns and in JSON: the only numbers with thirteen digits. */
const shifted =
  (byMs: number) =>
  (row: Row): Row =>
    JSON.parse(JSON.stringify(row).replaceAll(TIME, (time) => String(Number(time) + byMs)))

const TIME = /\b1\d{12}\b/g
