/**
 * A `SqlClient` over `node:sqlite`.
 *
 * It has the shape of Effect's own driver (`make`, `layer({ filename })`) and replaces it until one for this version of Effect is
 * published. While `node:sqlite` syncs, this thread does nothing else. That is why writes are grouped (`GroupCommit`).
 *
 * SqliteClient.S1. A committed transaction survives `kill -9` and a power cut: WAL with a full sync of every commit.
 * SqliteClient.S2. There is one connection. Statements and transactions alternate on it; a statement runs to its end synchronously, so
 *     no cursor and no read lock outlives it.
 * SqliteClient.S5. A thread of its own empties the log (`Checkpoints`). It grows to 64 MiB, and further only while another process reads.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError, Statement } from "effect/sql"
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import * as StorageFailure from "../sql/StorageFailure.ts"
import type { StorageError } from "../StorageError.ts"
import { Checkpoints } from "./Checkpoints.ts"
import * as NodeSqlite from "./NodeSqlite.ts"
import { classify } from "./SqliteError.ts"

/** Names a SQLite database. */
export interface Config {
  /** A path, or `:memory:`. */
  readonly filename: string
  /** Opens an existing file for reading alone. */
  readonly readonly?: boolean | undefined
}

/**
 * Milliseconds that a statement may wait for another process's lock. The wait stops every turn of this process, so it only covers a
 * lock that is about to be released; a caller that can wait longer retries (`DatabaseWait`).
 */
const BUSY_TIMEOUT_MS = 20

/**
 * Writes of a thousand conversations touch some thousand pages a commit. With SQLite's defaults (2 MB, 1,000 pages) every
 * commit would read them anew and copy them all out of the log; these two make it twice as fast.
 */
const CACHE_KIB = 32 * 1024
const CHECKPOINT_PAGES = 16_000

/**
 * Reads use the operating system's cache without a call for each page: histories are many pages that are read once, and a copy of them
 * in this process would be useless. Beyond this size a file is read with calls. Nothing is written this way. A disk that breaks under
 * a read then ends the process (SIGBUS) instead of failing the statement; committed data is not affected.
 */
const MAPPED_BYTES = 1024 * 1024 * 1024

/**
 * After a statement of this length, 5 ms (a row of megabytes, its commit), the event loop gets a turn before the caller continues. Otherwise
 * all other requests would wait for several such statements together. Almost all take a hundredth of it. The fiber's clock measures it: on
 * a test clock a statement takes no time, so that the order of a test does not depend on its machine.
 */
const LONG_NANOS = 5_000_000n

/** More than the number of different statements; the limit is for statements whose text depends on their input. */
const PREPARED_STATEMENTS = 200

/**
 * Opens a database. It is closed with the scope.
 *
 * **Gotchas**
 *
 * An integer that a JavaScript number cannot hold is refused, never rounded; under `SafeIntegers` it is a bigint.
 */
export const make = Effect.fnUntraced(function* (
  config: Config
): Effect.fn.Return<SqlClient.SqlClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> {
  const database = yield* Effect.acquireRelease(
    Effect.try({ try: () => open(config), catch: (cause) => classify(cause, "open") }),
    (database) => Effect.sync(() => close(database))
  )
  const checkpoints = isWritableFile(config) ? new Checkpoints(config.filename) : undefined
  yield* Effect.addFinalizer(() => Effect.promise(async () => checkpoints?.close()))
  const connection = connectionOf(database, checkpoints)
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore: yield* Semaphore.make(1),
    isTransaction: () => database.isTransaction
  })
  return yield* SqlClient.make({
    ...acquirers,
    driver: "sqlite-node",
    compiler: Statement.makeCompilerSqlite(),
    // A transaction that starts as a reader and becomes a writer fails at once, without its busy timeout, when another
    // process has written in between.
    beginTransaction: config.readonly === true ? "BEGIN" : "BEGIN IMMEDIATE",
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    prepareTransactionControls: true,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/** The same, with words for a database that cannot be opened. */
export const layerExplained = (config: Config): Layer.Layer<SqlClient.SqlClient, StorageError> =>
  Layer.catch(layer(config), (error) =>
    Layer.effectContext(Effect.fail(StorageFailure.explain(config.filename, "open the database", error)))
  )

/** A client that lives as long as the layer. */
export const layer = (config: Config): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(config)).pipe(Layer.provide(Reactivity.layer))

// --- internal

const open = (config: Config): DatabaseSync => {
  const { DatabaseSync } = NodeSqlite.load()
  const database = new DatabaseSync(config.filename, { readOnly: config.readonly ?? false })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
    database.exec("PRAGMA foreign_keys = ON")
    database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
    database.exec(`PRAGMA mmap_size = ${MAPPED_BYTES}`)
    if (config.readonly !== true) {
      database.exec("PRAGMA journal_mode = WAL")
      database.exec("PRAGMA synchronous = FULL") // SqliteClient.S1
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      // On macOS a sync stops at the drive's cache unless it is asked to go through (SqliteClient.S1). No effect elsewhere.
      database.exec("PRAGMA fullfsync = ON")
      database.exec("PRAGMA checkpoint_fullfsync = ON")
    }
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Moves the write-ahead log into the database, so that a copy needs one file only. */
const close = (database: DatabaseSync): void => {
  try {
    database.exec("PRAGMA wal_checkpoint(PASSIVE)") // while another process still reads
  } catch {
    // Committed data is in the log, and the next start reads it from there.
  } finally {
    database.close()
  }
}

const isWritableFile = ({ filename, readonly }: Config): boolean => readonly !== true && filename !== ":memory:"

const connectionOf = (database: DatabaseSync, checkpoints: Checkpoints | undefined): SqlConnection.Connection => {
  const prepared = new Map<string, StatementSync>()
  const prepare = (sql: string): StatementSync => {
    const known = prepared.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    const [oldest] = prepared.keys()
    if (oldest !== undefined && prepared.size >= PREPARED_STATEMENTS) prepared.delete(oldest)
    prepared.set(sql, statement)
    return statement
  }

  const run = <A>(
    find: (sql: string) => StatementSync,
    sql: string,
    params: ReadonlyArray<unknown>,
    read: (statement: StatementSync, params: ReadonlyArray<SQLInputValue>) => A
  ): Effect.Effect<A, SqlError.SqlError> =>
    Effect.withFiber((fiber) => {
      const clock = Context.get(fiber.context, Clock.Clock)
      const from = clock.monotonicTimeNanosUnsafe()
      const done = Effect.try({
        try: () => {
          const statement = find(sql)
          statement.setReadBigInts(Context.get(fiber.context, SqlClient.SafeIntegers))
          const values = params.map(parameterOf)
          const result = read(statement, values)
          if (checkpoints !== undefined && !hasRows(statement)) checkpoints.wrote(values.reduce(addSize, 0)) // SqliteClient.S5
          return result
        },
        catch: (cause) => classify(cause, "execute")
      })
      return Effect.tap(done, () => {
        if (checkpoints?.isBehind === true && !database.isTransaction)
          return Effect.promise(() => checkpoints.caughtUp()) // SqliteClient.S5
        return clock.monotonicTimeNanosUnsafe() - from > LONG_NANOS ? Effect.yieldNow : Effect.void
      })
    })

  const unprepared = (sql: string): StatementSync => database.prepare(sql)
  const rows =
    (find: (sql: string) => StatementSync): SqlConnection.Connection["execute"] =>
    (sql, params, transform) => {
      const found = run(find, sql, params, readRows)
      return transform === undefined ? found : Effect.map(found, transform)
    }
  return {
    execute: rows(prepare),
    executeUnprepared: rows(unprepared),
    executeRaw: (sql, params) => run(prepare, sql, params, (statement, values) => statement.run(...values)),
    executeValues: (sql, params) => run(unprepared, sql, params, readValues),
    executeValuesUnprepared: (sql, params) => run(unprepared, sql, params, readValues),
    executeStream: () => Stream.die(new Error("SqliteClient reads no streams: page by a key instead (S2)"))
  }
}

const readRows = (statement: StatementSync, params: ReadonlyArray<SQLInputValue>) => {
  if (hasRows(statement)) return statement.all(...params)
  statement.run(...params)
  return []
}

/** Asked once of each statement: the answer names all its columns, with their tables and types. */
const hasRows = (statement: StatementSync): boolean => {
  const known = rowed.get(statement)
  if (known !== undefined) return known
  const has = statement.columns().length > 0
  rowed.set(statement, has)
  return has
}

const rowed = new WeakMap<StatementSync, boolean>()

const readValues = (statement: StatementSync, params: ReadonlyArray<SQLInputValue>): Array<ReadonlyArray<unknown>> => {
  statement.setReturnArrays(true)
  return readRows(statement, params).map((row) => (Array.isArray(row) ? row : Object.values(row)))
}

const addSize = (sum: number, value: SQLInputValue): number => {
  if (typeof value === "string") return sum + value.length
  return value instanceof Uint8Array ? sum + value.byteLength : sum
}

const parameterOf = (value: unknown): SQLInputValue => {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
      return value
    case "boolean":
      return value ? 1 : 0
    default: {
      if (value === null || value === undefined) return null
      if (value instanceof Uint8Array) return value
      throw new TypeError(`SQLite cannot store a value of this kind: ${Object.prototype.toString.call(value)}`)
    }
  }
}
