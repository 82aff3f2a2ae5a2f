/**
 * Implements the ports of the storage on a SQL database.
 *
 * The SQL is common to SQLite and PostgreSQL; where they differ, in column types, in joining texts and in splitting lists, the code
 * branches on the dialect. `SqlDatabase` groups writes and reads.
 */
import { Interruptions, type StorageError } from "@holdfast/journal"
import { InterruptionTable, Rows, SchemaVersion, SqlDatabase } from "@holdfast/journal/sql"
import { DatabaseFile, SqliteClient } from "@holdfast/journal/sqlite"
import { defined } from "@holdfast/wire"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as DatabaseSchema from "../DatabaseSchema.ts"
import * as Damage from "../sqlite/Damage.ts"
import * as Standings from "../Standings.ts"
import * as Store from "../Store.ts"
import * as Histories from "./Histories.ts"
import * as PostgresTransaction from "./PostgresTransaction.ts"
import * as AnsweredCalls from "../AnsweredCalls.ts"
import * as SpendRaises from "../SpendRaises.ts"
import * as Deletions from "../Deletions.ts"
import * as IncidentStates from "../IncidentStates.ts"
import * as Lists from "../Lists.ts"
import * as Outbox from "../Outbox.ts"
import * as TurnLog from "../TurnLog.ts"
import * as RecordTable from "../tables/RecordTable.ts"

/** The ports that a database implements. */
export type Storage = Effect.Success<ReturnType<typeof make>> extends Context.Context<infer Ports> ? Ports : never

/** Characters of a UUID, enough to distinguish the writers of one turn: they are in each of its rows. */
const WRITER_LENGTH = 13

/**
 * A store on a SQLite file. A missing file is created with access for its owner only; `:memory:` is no file.
 *
 * **Gotchas**
 *
 * This layer does not keep two processes from running the same turns: `Tenancy` does.
 */
export const layer = ({ path: filename }: { readonly path: string }): Layer.Layer<Storage, StorageError> =>
  filename === DatabaseFile.MEMORY
    ? layerSqlite({ filename })
    : Layer.unwrap(Effect.as(DatabaseFile.prepare(filename), layerSqlite({ filename })))

/** A store in memory, which ends with the layer. */
export const layerMemory: Layer.Layer<Storage, StorageError> = Layer.suspend(() => layer({ path: DatabaseFile.MEMORY }))

/** A store on a SQLite database that exists. */
export const layerSqlite = (config: SqliteClient.Config): Layer.Layer<Storage, StorageError> =>
  layerSql(config.filename, config.filename === DatabaseFile.MEMORY ? undefined : config.filename).pipe(
    Layer.provide(SqliteClient.layerExplained(config))
  )

/**
 * A store on the `SqlClient` of the context.
 *
 * @param database names the database in errors: its file, or its address without a password
 * @param file the SQLite file to watch for damage; absent for other databases
 * @param isShared whether several processes write to it, as they do to a server
 */
export const layerSql = (
  database: string,
  file?: string,
  isShared = false
): Layer.Layer<Storage, StorageError, SqlClient.SqlClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const damage = file === undefined ? Damage.none : yield* Damage.make(file)
      yield* SchemaVersion.bring(database, DatabaseSchema.versions)
      return yield* make(database, damage, isShared)
    })
  )

/** The ports for reading alone: a database of another version is refused, and none is changed. */
export const layerReading = (database: string): Layer.Layer<Storage, StorageError, SqlClient.SqlClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { read, sql } = yield* SqlDatabase.make({ database })
      const refusal = yield* read("its version")(
        SchemaVersion.refuseOther(database, DatabaseSchema.versions).pipe(
          Effect.catchTag("StorageError", Effect.succeed),
          Effect.provideService(SqlClient.SqlClient, sql)
        )
      )
      return yield* refusal ?? make(database, Damage.none)
    })
  )

// --- internal

const make = Effect.fnUntraced(function* (name: string, damage: Damage.Damage, isShared = false) {
  const sql = yield* SqlClient.SqlClient
  const isServer = Rows.isServer(sql)
  const writer = isServer || isShared ? globalThis.crypto.randomUUID().slice(0, WRITER_LENGTH) : undefined
  const database = yield* SqlDatabase.make({
    database: name,
    onError: damage.note,
    ...defined({ transaction: isServer ? PostgresTransaction.make(sql) : undefined })
  })
  // Writes of one commit are made in this order: a conversation before its turns.
  const history = yield* Histories.make(database)
  const store = yield* Store.make(database, damage, history)
  const log = yield* TurnLog.make(database, writer, damage.refuse, history)
  return Context.make(Store.Store, store).pipe(
    Context.add(TurnLog.TurnLog, log),
    Context.add(Standings.Standings, yield* Standings.make(database)),
    Context.add(Interruptions.Interruptions, InterruptionTable.make(database, RecordTable.TABLES)),
    Context.add(Lists.Lists, Lists.make(database)),
    Context.add(Deletions.Deletions, Deletions.make(database)),
    Context.add(Outbox.Outbox, Outbox.make(database)),
    Context.add(IncidentStates.IncidentStates, IncidentStates.make(database)),
    Context.add(AnsweredCalls.AnsweredCalls, AnsweredCalls.make(database)),
    Context.add(SpendRaises.SpendRaises, SpendRaises.make(database))
  )
})
