/** The storage of the service in memory, for tests. */
import { DatabaseFile, SqliteClient } from "@holdfast/journal/sqlite"
import { Layer } from "effect"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"

export const layer = SqlStore.layerMemory

/** A store, and the client of its database. */
export const withClient = Layer.provideMerge(
  SqlStore.layerSql(DatabaseFile.MEMORY),
  Layer.orDie(SqliteClient.layer({ filename: DatabaseFile.MEMORY }))
)
