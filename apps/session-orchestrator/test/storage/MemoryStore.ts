/**
 * Stores in memory that begin as copies of one migrated database.
 *
 * A copy takes a fifth of the time of a migration, and unit tests open hundreds of stores. `SqlStore.int.test.ts` migrates each of its databases.
 */
import type { StorageError } from "@holdfast/journal"
import { DatabaseFile, NodeSqlite, SqliteClient } from "@holdfast/journal/sqlite"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"

/** A client on a migrated database in memory, which ends with the layer. */
export const client: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError | StorageError> = Layer.unwrap(
  Effect.map(
    Effect.suspend(() => template),
    (image) => SqliteClient.layer({ filename: DatabaseFile.MEMORY, image })
  )
)

/** A store on such a database, and its client. */
export const withClient = Layer.provideMerge(SqlStore.layerSql(DatabaseFile.MEMORY), Layer.orDie(client))

/** A store on such a database. */
export const layer: Layer.Layer<SqlStore.Storage, StorageError> = Layer.provide(
  SqlStore.layerSql(DatabaseFile.MEMORY),
  Layer.orDie(client)
)

// --- internal

interface Entry {
  readonly name: string
  readonly sql: string
}

/** Migrates a database and copies it: `SqlClient` gives its rows, and no bytes. */
const make = Effect.gen(function* () {
  const context = yield* Layer.build(SqliteClient.layer({ filename: DatabaseFile.MEMORY }))
  const sql = Context.get(context, SqlClient.SqlClient)
  yield* Layer.build(Layer.provide(SqlStore.layerSql(DatabaseFile.MEMORY), Layer.succeedContext(context)))
  const { DatabaseSync } = NodeSqlite.load()
  const copy = new DatabaseSync(DatabaseFile.MEMORY)
  const entries =
    yield* sql<Entry>`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'`
  for (const entry of entries) copy.exec(entry.sql)
  for (const { name } of yield* sql<Entry>`SELECT name, sql FROM sqlite_master WHERE type = 'table'`) {
    for (const row of yield* sql<Readonly<Record<string, string | number | null>>>`SELECT * FROM ${sql(name)}`) {
      const columns = Object.keys(row)
      const places = columns.map(() => "?").join()
      copy.prepare(`INSERT INTO "${name}" (${columns.join()}) VALUES (${places})`).run(...Object.values(row))
    }
  }
  const image = copy.serialize()
  copy.close()
  return image
}).pipe(Effect.scoped)

const template = Effect.runSync(Effect.cached(make))
