/**
 * The `Journal` and the `Interruptions` on a SQLite file, with tables of their own.
 *
 * - The tables' names begin with `holdfast_`, so the file can be an application's own database.
 * - A file that a newer version has changed is refused, and not changed.
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
import { SqlClient, type SqlError } from "effect/sql"
import { Interruptions } from "../Interruptions.ts"
import { type Append, Journal, JournalConflict } from "../Journal.ts"
import * as SchemaVersion from "../sql/SchemaVersion.ts"
import * as SqlDatabase from "../sql/SqlDatabase.ts"
import * as InterruptionTable from "../sql/InterruptionTable.ts"
import * as JournalTable from "../sql/JournalTable.ts"
import type { Tables } from "../sql/JournalTable.ts"
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

/** The ports on a file. */
export const layer = ({ path }: Config): Layer.Layer<Journal | Interruptions, StorageError> => {
  const client = SqliteClient.layerExplained({ filename: path })
  const prepared = path === DatabaseFile.MEMORY ? Effect.void : DatabaseFile.prepare(path)
  return Layer.effectContext(make(path)).pipe(Layer.provide(Layer.unwrap(Effect.as(prepared, client))))
}

// --- internal

const make = Effect.fnUntraced(function* (path: string) {
  yield* SchemaVersion.bring(path, VERSIONS)
  const database = yield* SqlDatabase.make({ database: path })
  const { sql } = database
  const { each, failed, lane, read } = database
  const append = lane((appends: ReadonlyArray<Append>) =>
    addTurns(sql, appends).pipe(
      Effect.andThen(JournalTable.ends(sql, TABLES, appends)),
      Effect.flatMap((ends) => JournalTable.append(sql, TABLES)(appends, ends))
    )
  )
  const journal = Journal.of({
    load: (turnId) =>
      JournalTable.load(sql, TABLES, [turnId]).pipe(
        read(`the journal of turn ${turnId}`),
        Effect.map((found) => found.get(turnId) ?? [])
      ),
    append: (turnId, seq, ...records) =>
      append({ turnId, seq, records }).pipe(
        failed(`record ${records.map(({ name }) => name).join(", ")} of turn ${turnId}`),
        Effect.flatMap((isHeld) => (isHeld ? Effect.void : Effect.fail(new JournalConflict({ turnId }))))
      ),
    forget: each("delete the journals of old turns", (sealedBefore, after) =>
      Effect.flatMap(sealed(sql, after), (page) => JournalTable.forget(sql, TABLES, page, sealedBefore))
    )
  })
  return Context.make(Journal, journal).pipe(Context.add(Interruptions, InterruptionTable.make(database, TABLES)))
})

const VERSIONS: SchemaVersion.Versions = {
  table: "holdfast_journal_migrations",
  another: "use another file",
  migrations: {
    "0001_initial": Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE holdfast_turns (number INTEGER PRIMARY KEY, turn_id TEXT NOT NULL UNIQUE)`
      yield* JournalTable.create(sql, TABLES)
    })
  }
}

const addTurns = (sql: SqlClient.SqlClient, appends: ReadonlyArray<Append>) =>
  sql`INSERT OR IGNORE INTO holdfast_turns (turn_id) SELECT value FROM json_each(${JSON.stringify(appends.map(({ turnId }) => turnId))})`

/** A seal is the last record of its turn. */
const sealed = (
  sql: SqlClient.SqlClient,
  after: Ids.TurnId | undefined
): Effect.Effect<ReadonlyArray<JournalTable.SealedTurn>, SqlError.SqlError> =>
  sql<JournalTable.SealedTurn>`
    SELECT t.turn_id AS "turnId", j.value ->> 'at' AS "endedAt" FROM holdfast_turns t
    JOIN holdfast_journal j ON j.turn = t.number
      AND j.seq = (SELECT max(seq) FROM holdfast_journal WHERE turn = t.number)
    WHERE j.name = ${Records.nameOf("Seal", 0)}
      AND t.number > COALESCE((SELECT number FROM holdfast_turns WHERE turn_id = ${after ?? ""}), 0)
    ORDER BY t.number LIMIT ${JournalTable.FORGOTTEN_AT_ONCE}`
