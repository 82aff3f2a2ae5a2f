/**
 * Creates the tables of a database, and refuses a database of another version.
 *
 * A released migration is never edited: a change of the tables is the next migration, with the next number.
 */
import * as Effect from "effect/Effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { StorageError } from "../StorageError.ts"
import * as DatabaseWait from "./DatabaseWait.ts"
import * as SqlDatabase from "./SqlDatabase.ts"
import * as StorageFailure from "./StorageFailure.ts"

/** The tables of an application, as migrations. */
export interface Versions {
  /** The table in which a database records its migrations. */
  readonly table: string
  /** By number and name: `0025_tables`. The highest number is the version; the first creates all tables in an empty database. */
  readonly migrations: Readonly<Record<string, Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>>>
  /** How to begin anew: `set database.path to another file`. */
  readonly another: string
}

/** The version that these migrations make. */
export const versionOf = (versions: Versions): number => Math.max(...numbersOf(versions))

/** Brings a database to the version, in one transaction. A database that cannot be brought there is refused, and nothing in it is changed. */
export const bring = (database: string, versions: Versions): Effect.Effect<void, StorageError, SqlClient.SqlClient> => {
  const migrations = Object.fromEntries(
    Object.entries(versions.migrations).map(([name, migration]) => [
      name,
      Number.parseInt(name, 10) === firstOf(versions)
        ? Effect.andThen(refuseBefore(database, versions), migration)
        : migration
    ])
  )
  return Migrator.make({})({ loader: Migrator.fromRecord(migrations), table: versions.table }).pipe(
    Effect.andThen(refuseOther(database, versions)),
    DatabaseWait.whileBusy((error) => SqlError.isSqlError(error) && SqlDatabase.isBusy(error)),
    Effect.mapError((error) => {
      // A migration that failed wraps its error.
      const cause = error._tag === "MigrationError" ? error.cause : error
      if (cause instanceof StorageError) return cause
      return SqlError.isSqlError(cause)
        ? StorageFailure.explain(database, "prepare the tables", cause)
        : new StorageError({ message: `Could not use the database ${database}: ${error.message}` })
    })
  )
}

/** Fails unless the database has exactly this version: a reader changes nothing. */
export const refuseOther = (
  database: string,
  versions: Versions
): Effect.Effect<void, StorageError | SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.flatMap(foundIn(versions), (found) => {
    const newest = found.at(-1) ?? 0
    return newest === versionOf(versions) ? Effect.void : Effect.fail(refusal(database, versions, newest))
  })

// --- internal

const numbersOf = ({ migrations }: Versions): ReadonlyArray<number> =>
  Object.keys(migrations).map((name) => Number.parseInt(name, 10))

const firstOf = (versions: Versions): number => Math.min(...numbersOf(versions))

/** Fails if the database has a version below the first: it has tables of the same names, in another form. */
const refuseBefore = (database: string, versions: Versions) =>
  Effect.flatMap(foundIn(versions), (found) => {
    const before = found.findLast((version) => version < firstOf(versions))
    return before === undefined ? Effect.void : Effect.fail(refusal(database, versions, before))
  })

/** The versions that a database has had. */
const foundIn = ({ table }: Versions) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly version: number }>`
      SELECT migration_id AS version FROM ${sql(table)} ORDER BY migration_id`
    return rows.map(({ version }) => version)
  })

const refusal = (database: string, versions: Versions, found: number): StorageError => {
  const version = versionOf(versions)
  return new StorageError({
    message:
      `Could not use the database ${database}: its schema has version ${found}, and this Holdfast reads version ${version}. ` +
      `${adviceFor(versions, found)} Nothing was changed.`
  })
}

const adviceFor = (versions: Versions, found: number): string => {
  if (found > versionOf(versions)) return `Start the newer Holdfast that made it, or ${versions.another}.`
  return found < firstOf(versions)
    ? `It is older than the first release, and is not converted: ${versions.another} to begin anew, or go on with the Holdfast that made it.`
    : "Start the service of this Holdfast on it once, which brings it there, or look with the Holdfast that made it."
}
