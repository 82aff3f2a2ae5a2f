/**
 * Migrates the database to the schema of this Holdfast, at start.
 *
 * Migrations.V1. A released migration is never edited: a change is the next migration.
 * Migrations.V2. A database that a newer Holdfast has changed is refused: this version does not know what it would break.
 * Migrations.V3. A reader changes nothing, so it refuses a database of an older Holdfast as well.
 * Migrations.V4. Changing a database with data writes a line to the log, and its progress if it takes long: the current statement,
 *     because one statement of SQLite occupies the thread to its end.
 * Migrations.V5. A copy that a migration drops is overwritten in a SQLite file: conversations that are deleted later are in no free page
 *     either (`Deletions.D3`).
 */
import { Effect, Schema } from "effect"
import { Migrator, SqlClient, type SqlError, Statement } from "effect/sql"
import * as Progress from "../../system/Progress.ts"
import * as SecureDelete from "../SecureDelete.ts"
import { migration as initial } from "./0001_initial.ts"
import { migration as fewerRows } from "./0002_fewer_rows.ts"
import { migration as standings } from "./0003_standings.ts"
import { migration as gates } from "./0004_gates.ts"
import { migration as writers } from "./0005_writers.ts"
import { migration as numbers } from "./0006_numbers.ts"
import { migration as interruptions } from "./0007_interruptions.ts"
import { migration as providerUse } from "./0008_provider_use.ts"
import { migration as lives } from "./0009_lives.ts"
import { migration as lists } from "./0010_lists.ts"
import { migration as labels } from "./0011_labels.ts"
import { migration as submitted } from "./0012_submitted.ts"
import { migration as prompts } from "./0013_prompts.ts"
import { migration as outbox } from "./0014_outbox.ts"
import { migration as conversations } from "./0015_conversations.ts"
import { migration as incidents } from "./0016_incidents.ts"
import { migration as modelChanges } from "./0017_model_changes.ts"
import { migration as uncounted } from "./0018_uncounted.ts"
import { migration as answeredCalls } from "./0019_answered_calls.ts"
import { migration as models } from "./0020_models.ts"
import { migration as toolAnswers } from "./0021_tool_answers.ts"
import { migration as callKeys } from "./0022_call_keys.ts"
import { migration as deaths } from "./0023_deaths.ts"
import { migration as eventTurns } from "./0024_event_turns.ts"

/** Every migration by its number and name. The highest number is the version of the schema. */
const migrations = {
  "0001_initial": initial,
  "0002_fewer_rows": fewerRows,
  "0003_standings": standings,
  "0004_gates": gates,
  "0005_writers": writers,
  "0006_numbers": numbers,
  "0007_interruptions": interruptions,
  "0008_provider_use": providerUse,
  "0009_lives": lives,
  "0010_lists": lists,
  "0011_labels": labels,
  "0012_submitted": submitted,
  "0013_prompts": prompts,
  "0014_outbox": outbox,
  "0015_conversations": conversations,
  "0016_incidents": incidents,
  "0017_model_changes": modelChanges,
  "0018_uncounted": uncounted,
  "0019_answered_calls": answeredCalls,
  "0020_models": models,
  "0021_tool_answers": toolAnswers,
  "0022_call_keys": callKeys,
  "0023_deaths": deaths,
  "0024_event_turns": eventTurns
}

/** The table in which a database records its migrations. */
export const TABLE = "holdfast_migrations"

/** The version of the schema that this Holdfast reads and writes. */
export const VERSION = Object.keys(migrations).length

/** The database was made by a newer Holdfast (Migrations.V2). */
export class NewerDatabase extends Schema.TaggedError<NewerDatabase>()("NewerDatabase", {
  found: Schema.Int
}) {
  override get message(): string {
    return (
      `its schema has version ${this.found}, and this Holdfast knows versions up to ${VERSION}. ` +
      "Start the newer Holdfast that made it, or set database.path to another file. Nothing was changed."
    )
  }
}

/** The database was made by an older Holdfast, and a reader must not change it (Migrations.V3). */
export class OlderDatabase extends Schema.TaggedError<OlderDatabase>()("OlderDatabase", {
  found: Schema.Int
}) {
  override get message(): string {
    return (
      `its schema has version ${this.found}, and this Holdfast reads version ${VERSION}. ` +
      "Start the service of this Holdfast on it once, which brings it there, or look with the Holdfast that made it. Nothing was changed."
    )
  }
}

/** Fails if the database is newer (Migrations.V2). The database must have been migrated once. */
export const refuseNewer: Effect.Effect<void, NewerDatabase | SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(
  function* () {
    const found = yield* version
    if (found > VERSION) return yield* new NewerDatabase({ found })
  }
)

/** Fails unless the database has exactly this version (Migrations.V2, Migrations.V3). The database must have been migrated once. */
export const refuseOther: Effect.Effect<void, NewerDatabase | OlderDatabase | SqlError.SqlError, SqlClient.SqlClient> =
  Effect.gen(function* () {
    const found = yield* version
    if (found > VERSION) return yield* new NewerDatabase({ found })
    if (found < VERSION) return yield* new OlderDatabase({ found })
  })

/** Migrates the database to `VERSION`, in one transaction. Does nothing if it has that version. */
export const run: Effect.Effect<
  void,
  NewerDatabase | Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  // Runs the migrations above the newest in the database: in a newer database, none.
  yield* Progress.reported(
    "Changing the database",
    (progress) => Migrator.make({})({ loader: Migrator.fromRecord(announced(progress)), table: TABLE }),
    { fromPosition: true }
  )
  yield* refuseNewer
})

// --- internal

/** The migrations, each with a line in the log before it, and its statements as progress (Migrations.V4). A new database logs nothing. */
const announced = (
  progress: Progress.Progress
): Readonly<Record<string, Effect.Effect<void, unknown, SqlClient.SqlClient>>> => {
  let isNew = false
  return Object.fromEntries(
    Object.entries(migrations).map(([name, migration]) => {
      const number = Number.parseInt(name, 10)
      const reporting: Statement.Transformer = (statement) =>
        Effect.as(
          progress.at(() => `version ${number} of ${VERSION}, ${beginningOf(statement)}`),
          statement
        )
      const announce = Effect.logInfo(
        `Changing the database to version ${number} of its schema, in one transaction. No turn runs meanwhile.`
      )
      const reported = securely(Effect.provideService(migration, Statement.CurrentTransformer, reporting))
      const run = Effect.suspend(() => {
        isNew ||= number === 1
        return isNew ? migration : Effect.andThen(announce, reported)
      })
      return [name, run]
    })
  )
}

/** Migrations.V5 */
const securely = (migration: Effect.Effect<void, unknown, SqlClient.SqlClient>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.acquireUseRelease(
      SecureDelete.set(sql, true),
      () => migration,
      () => Effect.orDie(SecureDelete.set(sql, false))
    )
  )

/** The first words of a statement: `INSERT INTO events`. */
const beginningOf = (statement: Statement.Statement<unknown>): string =>
  statement.compile()[0].trim().split(/\s+/, WORDS).join(" ").replaceAll('"', "")

const WORDS = 3

const version = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [newest] = yield* sql<{ readonly found: number }>`SELECT max(migration_id) AS found FROM ${sql(TABLE)}`
  return newest?.found ?? 0
})
