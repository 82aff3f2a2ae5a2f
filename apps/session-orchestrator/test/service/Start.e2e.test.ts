/** Tests a start that cannot succeed: it reports why, and changes nothing. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Semaphore } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DatabaseSchema from "../../src/storage/DatabaseSchema.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

/** More starts at once, on two cores, would not be faster. */
const places = Semaphore.makeUnsafe(2)

describe.concurrent("a start that cannot succeed", () => {
  const cases: ReadonlyArray<{
    readonly what: string
    /** `database.path` of the configuration to start with. */
    readonly database: string
    readonly trouble: (directory: string) => void
    readonly message: RegExp
  }> = [
    {
      what: "a database in a directory that cannot be made",
      database: "file/data/holdfast.db",
      trouble: (directory) => fs.writeFileSync(path.join(directory, "file"), ""),
      message:
        /^holdfast: Could not create the database \S+file\/data\/holdfast\.db: .* or set database\.path to another place\.\n$/
    },
    {
      what: "a database that is a directory",
      database: "data/holdfast.db",
      trouble: (directory) => fs.mkdirSync(path.join(directory, "data/holdfast.db"), { recursive: true }),
      message: /^holdfast: Could not open the database in \S+: .*Check that the path exists, is a file/
    },
    {
      what: "a database that is something else",
      database: "notes.txt",
      trouble: (directory) =>
        fs.writeFileSync(path.join(directory, "notes.txt"), "Not a database, but dear to somebody.\n"),
      message:
        /^holdfast: Could not open the database in \S+: .*The file is no SQLite database, or its beginning is destroyed\./
    },
    {
      what: "a database that is damaged",
      database: "holdfast.db",
      trouble: (directory) => {
        const file = path.join(directory, "holdfast.db")
        database(file, "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
        const bytes = fs.readFileSync(file)
        fs.writeFileSync(file, bytes.fill(0xa5, 100, 8192))
      },
      message:
        /^holdfast: Could not [^\n]+ in \S+holdfast\.db: .*The file is damaged\. Stop Holdfast, keep what is left/
    },
    {
      what: "a database of a newer Holdfast",
      database: "holdfast.db",
      trouble: (directory) =>
        database(
          path.join(directory, "holdfast.db"),
          `PRAGMA journal_mode = WAL;
           CREATE TABLE ${DatabaseSchema.versions.table} (migration_id integer PRIMARY KEY NOT NULL, created_at datetime NOT NULL DEFAULT current_timestamp, name VARCHAR(255) NOT NULL);
           INSERT INTO ${DatabaseSchema.versions.table} (migration_id, name) VALUES (9999, 'from_the_future')`
        ),
      message: /^holdfast: Could not use the database \S+: its schema has version 9999, .* Nothing was changed\.\n$/
    }
  ]

  it.live.each(cases)("reports why in one paragraph and changes nothing: $what", ({ database, message, trouble }) =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      trouble(directory)
      const file = Process.writeConfig(directory, { server: { port: 0 }, database: { path: database } })
      const before = contentOf(directory)
      const exit = yield* Process.run({ args: ["serve", "--config", file], directory }).pipe(
        Effect.flatMap((run) => run.exit),
        places.withPermits(1)
      )
      assert.strictEqual(exit.stdout, "")
      assert.match(exit.stderr, message)
      assert.notMatch(exit.stderr, /\n\s+at |\n\n/)
      assert.deepStrictEqual([exit.code, contentOf(directory)], [1, before])
    })
  )
})

describe("a second start of a running service", () => {
  It.live("leaves the turns of the first alone, and ends with 1", function* () {
    const { config, directory, provider, start } = yield* ProcessSetup.setup()
    const { gate, response } = ProcessSetup.gated("Once", 1)
    provider.respond(response)
    const first = yield* start
    const id = yield* first.create()
    const live = yield* first.open(ProcessSetup.request(id, "one"))
    yield* gate.reached

    const file = Process.writeConfig(directory, { ...config, server: { port: first.port } })
    const args = ["serve", "--config", file]
    const { code, stderr } = yield* Effect.flatMap(Process.run({ args, directory }), (second) => second.exit)
    assert.strictEqual(code, 1)
    assert.match(stderr, /^holdfast: [^\n]+\n$/)
    yield* gate.open
    assert.deepStrictEqual([Service.shown(Service.eventsOf(yield* live.rest)), provider.count()], ["Once", 1])
  })
})

// --- internal

/** Runs SQL on a database file of another program. */
const database = (file: string, sql: string): void => {
  const database = new (NodeSqlite.load().DatabaseSync)(file)
  database.exec(sql)
  database.close()
}

/** Every file below a directory, with its content. Locks are left out: a start takes one first, and it has no content. */
const contentOf = (directory: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs
      .readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter(({ name }) => !name.endsWith(".lock"))
      .map((entry) => [
        path.relative(directory, path.join(entry.parentPath, entry.name)),
        entry.isFile() ? digest(fs.readFileSync(path.join(entry.parentPath, entry.name))) : "directory"
      ])
  )

const digest = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")
