/**
 * The `Journal` and the `Interruptions` on a SQLite file, with tables of their own.
 *
 * SqliteJournal.S1. The tables' names begin with `holdfast_`, so the file can be an application's own database.
 * SqliteJournal.S2. A file that a newer version has changed is refused, and not changed.
 *
 * **Gotchas**
 *
 * Two processes may open one file; the fence (`Journal.J2`) stops the second that writes to a turn. A turn whose records were deleted
 * (`Journal.forget`) is unknown: running its id again starts it anew.
 */
import { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql"
import { Interruptions } from "../Interruptions.ts"
import { Journal, type JournalWith } from "../Journal.ts"
import type * as GroupCommit from "../sql/GroupCommit.ts"
import * as SchemaVersion from "../sql/SchemaVersion.ts"
import * as SqlDatabase from "../sql/SqlDatabase.ts"
import * as InterruptionTable from "../sql/InterruptionTable.ts"
import * as SqlJournal from "../sql/SqlJournal.ts"
import * as StorageFailure from "../sql/StorageFailure.ts"
import type { TableError, Tables } from "../sql/JournalTable.ts"
import type { StorageError } from "../StorageError.ts"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as SqliteClient from "./SqliteClient.ts"

/** The names of the tables. */
export const TABLES: Tables = {
  turns: "holdfast_turns",
  journal: "holdfast_journal",
  interruptions: "holdfast_interruptions"
}

/** Names a file. */
export interface Config {
  /** Created, with access for its owner only, if it is missing; `:memory:` is no file. */
  readonly path: string
}

/** A journal whose appends can carry an application's statements. */
export interface SqliteJournal<In, Out> {
  /** The database, for the application's own tables and reads. */
  readonly sql: SqlClient.SqlClient
  readonly journal: Journal["Service"] & JournalWith<In, Out>
  readonly interruptions: Interruptions["Service"]
}

/**
 * Opens a file until the scope ends.
 *
 * @param statements runs an application's statements in the transaction of the records that they follow from, those of many turns at
 *   once, with one result for each. It may run again, and must then give the same result
 */
export const make = Effect.fnUntraced(function* <In, Out>(
  { path }: Config,
  statements: (sql: SqlClient.SqlClient) => GroupCommit.Apply<In, Out, TableError>
): Effect.fn.Return<SqliteJournal<In, Out>, StorageError, Scope.Scope> {
  if (path !== DatabaseFile.MEMORY) yield* DatabaseFile.prepare(path)
  const context = yield* Effect.mapError(Layer.build(SqliteClient.layer({ filename: path })), (error) =>
    StorageFailure.explain(path, "open the database", error)
  )
  const sql = Context.get(context, SqlClient.SqlClient)
  yield* Effect.provideService(SchemaVersion.bring(path, VERSIONS), SqlClient.SqlClient, sql)
  const database = yield* Effect.provideService(SqlDatabase.make({ database: path }), SqlClient.SqlClient, sql)
  const { journal } = yield* SqlJournal.make(database, {
    tables: TABLES,
    statements: statements(sql),
    beforeAppend: addTurns(sql),
    sealed: sealed(sql)
  })
  return { sql, journal, interruptions: InterruptionTable.make(database, TABLES) }
})

/** The ports on a file, for an application without statements of its own. */
export const layer = (config: Config): Layer.Layer<Journal | Interruptions, StorageError> =>
  Layer.effectContext(
    Effect.map(
      make(config, () => () => Effect.succeed([])),
      ({ interruptions, journal }) => Context.make(Journal, journal).pipe(Context.add(Interruptions, interruptions))
    )
  )

// --- internal

const VERSIONS: SchemaVersion.Versions = {
  table: "holdfast_journal_migrations",
  another: "use another file",
  migrations: {
    "0001_initial": Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE holdfast_turns (number INTEGER PRIMARY KEY, turn_id TEXT NOT NULL UNIQUE)`
      yield* sql`CREATE TABLE holdfast_journal (
        turn INTEGER NOT NULL REFERENCES holdfast_turns (number),
        seq INTEGER NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (turn, seq)
      )`
      yield* sql`CREATE TABLE holdfast_interruptions (
        turn INTEGER PRIMARY KEY NOT NULL REFERENCES holdfast_turns (number),
        life TEXT NOT NULL,
        seen INTEGER NOT NULL,
        deaths INTEGER NOT NULL,
        is_alone INTEGER NOT NULL,
        is_orderly INTEGER NOT NULL,
        defects INTEGER NOT NULL
      )`
    })
  }
}

const addTurns =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<void, TableError> =>
    Effect.asVoid(
      sql`INSERT OR IGNORE INTO holdfast_turns (turn_id) SELECT value FROM json_each(${JSON.stringify(ids)})`
    )

/** A seal is the last record of its turn. */
const sealed =
  (sql: SqlClient.SqlClient) =>
  (after: Ids.TurnId | undefined, limit: number): Effect.Effect<ReadonlyArray<SqlJournal.SealedTurn>, TableError> =>
    Effect.flatMap(
      sql<{ readonly turnId: Ids.TurnId; readonly value: string }>`
        SELECT t.turn_id AS "turnId", j.value FROM holdfast_turns t
        JOIN holdfast_journal j ON j.turn = t.number
          AND j.seq = (SELECT max(seq) FROM holdfast_journal WHERE turn = t.number)
        WHERE j.name = ${Records.nameOf("Seal", 0)}
          AND t.number > COALESCE((SELECT number FROM holdfast_turns WHERE turn_id = ${after ?? ""}), 0)
        ORDER BY t.number LIMIT ${limit}`,
      Effect.forEach(({ turnId, value }) => Effect.map(decodeSeal(value), ({ at }) => ({ turnId, endedAt: at })))
    )

const decodeSeal = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.toCodecJson(Records.Seal)))
