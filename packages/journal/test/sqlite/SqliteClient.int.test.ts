import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { basename, dirname } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as DatabaseFile from "../../src/sqlite/DatabaseFile.ts"
import * as SqliteClient from "../../src/sqlite/SqliteClient.ts"
import * as SqliteError from "../../src/sqlite/SqliteError.ts"
import { temporaryFile } from "../../testing/TemporaryFile.ts"

const test = <A, E>(title: string, body: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  it.live(title, () =>
    SqliteClient.make({ filename: ":memory:" }).pipe(
      Effect.tap((sql) => sql`CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0)`),
      Effect.flatMap(body),
      Effect.scoped,
      Effect.provide(Reactivity.layer)
    )
  )

const namesIn = (sql: SqlClient.SqlClient) =>
  Effect.map(sql`SELECT name FROM t ORDER BY id`, (rows) => rows.map((row) => row.name))

describe("SqliteClient", () => {
  test("every kind of SQLite value is written and read", (sql) =>
    Effect.gen(function* () {
      const blob = new Uint8Array([0, 255])
      const [row] = yield* sql`SELECT ${"text"} AS a, ${1.5} AS b, ${true} AS c, ${null} AS d, ${blob} AS e, ${7n} AS f`
      expect({ ...row }).toEqual({ a: "text", b: 1.5, c: 1, d: null, e: blob, f: 7 })
      expect(yield* sql`SELECT 1 AS x, 2 AS x`.values).toEqual([[1, 2]])
      expect((yield* Effect.flip(sql`SELECT ${{ not: "a value" }}`)).message).toContain("cannot store")
    }))

  test("an integer too large for a number is refused, and exact as a bigint", (sql) =>
    Effect.gen(function* () {
      const large = sql<{ readonly n: bigint }>`SELECT 9007199254740993 AS n`
      expect((yield* Effect.flip(large)).message).toContain("too large")
      const [row] = yield* Effect.provideService(large, SqlClient.SafeIntegers, true)
      expect(row?.n).toBe(9007199254740993n)
    }))

  test("a failed transaction undoes everything, a failed inner transaction its own part", (sql) =>
    Effect.gen(function* () {
      const insert = (name: string) => sql`INSERT INTO t ${sql.insert({ name })}`
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* insert("kept")
          yield* Effect.flip(sql.withTransaction(Effect.andThen(insert("lost"), Effect.fail("no"))))
          yield* insert("kept too")
        })
      )
      yield* Effect.flip(sql.withTransaction(Effect.andThen(insert("lost as well"), Effect.fail("no"))))
      expect(yield* namesIn(sql)).toEqual(["kept", "kept too"])
    }))

  test("after a long statement other fibers run before its caller continues", (sql) =>
    Effect.gen(function* () {
      yield* sql`SELECT 1`
      let isOthersTurn = false
      setImmediate(() => (isOthersTurn = true))
      yield* sql`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000000) SELECT count(*) FROM c`
      expect(isOthersTurn).toBe(true)
    }))

  test("keeps a limited number of prepared statements, and can prepare any of them again", (sql) =>
    Effect.gen(function* () {
      for (const round of [1, 2]) {
        for (let n = 0; n < 250; n++) {
          const [row] = yield* sql.unsafe(`SELECT ${n} AS n, ? AS round`, [round])
          expect({ ...row }).toEqual({ n, round })
        }
      }
    }))

  test("SqliteClient.S2: a statement waits for the transaction of another fiber", (sql) =>
    Effect.gen(function* () {
      const [begun, go] = [yield* Latch.make(), yield* Latch.make()]
      yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`INSERT INTO t ${sql.insert({ name: "first" })}`
            yield* Effect.andThen(begun.open, go.await)
            yield* sql`INSERT INTO t ${sql.insert({ name: "second" })}`
          })
        )
      )
      yield* begun.await
      const reader = yield* Effect.forkChild(namesIn(sql), { startImmediately: true })
      yield* go.open
      expect(yield* Fiber.join(reader)).toEqual(["first", "second"])
    }))

  test("errors of SQLite are classified", (sql) =>
    Effect.gen(function* () {
      yield* sql`INSERT INTO t ${sql.insert({ name: "a" })}`
      const unique = yield* Effect.flip(sql`INSERT INTO t ${sql.insert({ name: "a" })}`)
      expect(unique.reason).toMatchObject({ _tag: "UniqueViolation", constraint: "t.name" })
      expect(unique.isRetryable).toBe(false)
      const missing = yield* Effect.flip(sql`INSERT INTO t ${sql.insert({ name: "b", n: null })}`)
      expect(missing.reason._tag).toBe("ConstraintError")
      expect(SqliteError.codeOf(missing)).toBe(19)
      const wording = yield* Effect.flip(sql`SELEC 1`)
      expect(wording.message).toContain("syntax error")
    }))

  it.live("loading it prints nothing on the terminal", () =>
    Effect.gen(function* () {
      const loader = fileURLToPath(new URL("../../src/sqlite/NodeSqlite.ts", import.meta.url))
      const script = `import { load } from ${JSON.stringify(loader)}
        new (load().DatabaseSync)(":memory:").close()
        process.emitWarning("heard")`
      const { stderr } = yield* Effect.promise(() =>
        promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script])
      )
      expect(stderr).not.toContain("SQLite")
      expect(stderr).toContain("heard")
    })
  )
})

it.live(
  "SqliteClient.S5: the log beside the database stops growing at the size in docs/operations.md, after any amount of writes",
  () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      yield* DatabaseFile.prepare(filename)
      const sql = yield* SqliteClient.make({ filename })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, payload BLOB)`
      const payload = new Uint8Array(4 * MIB)
      const sizes: Array<number> = []
      for (let written = 0; written < 160 * MIB; written += payload.length) {
        yield* sql`INSERT INTO t ${sql.insert({ payload })}`
        sizes.push(fs.statSync(`${filename}-wal`).size)
      }
      const largest = Math.max(...sizes)
      // The commit that exceeds the limit is in the log too.
      expect(largest).toBeLessThan(64 * MIB + payload.length)
      // The used part depends on the speed of the thread.
      expect(largest).toBeGreaterThan(16 * MIB)
      const page = fs.readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8")
      expect(page).toContain("| `holdfast.db-wal` | grows to 64 MiB")
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
)

it.live("SqliteClient.S5: the log of a killed process is emptied at the start, and its data is in the database", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    yield* DatabaseFile.prepare(filename)
    const killed = yield* temporaryFile
    yield* DatabaseFile.prepare(killed)
    yield* Effect.gen(function* () {
      const sql = yield* SqliteClient.make({ filename })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, payload BLOB)`
      yield* sql`INSERT INTO t ${sql.insert({ payload: new Uint8Array(4 * MIB) })}`
      // What a kill leaves: both files as they are.
      for (const end of ["", "-wal"]) fs.copyFileSync(`${filename}${end}`, `${killed}${end}`)
    }).pipe(Effect.scoped)
    const log = () => fs.statSync(`${killed}-wal`).size
    expect(log()).toBeGreaterThan(4 * MIB)
    const sql = yield* SqliteClient.make({ filename: killed })
    const pause = Effect.promise(() => new Promise((resolve) => void setImmediate(resolve)))
    yield* Effect.repeat(pause, { until: () => log() === 0 })
    expect(fs.statSync(killed).size).toBeGreaterThan(4 * MIB)
    expect(yield* sql`SELECT length(payload) AS length FROM t`).toEqual([{ length: 4 * MIB }])
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
)

it.live("closing leaves one file, also after a thread has emptied the log", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    yield* DatabaseFile.prepare(filename)
    yield* Effect.gen(function* () {
      const sql = yield* SqliteClient.make({ filename })
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, payload BLOB)`
      // After this amount the writer has waited for the thread.
      for (let n = 0; n < 12; n++) yield* sql`INSERT INTO t ${sql.insert({ payload: new Uint8Array(4 * MIB) })}`
    }).pipe(Effect.scoped)
    expect(fs.readdirSync(dirname(filename)).filter((name) => name.startsWith(basename(filename)))).toEqual([
      basename(filename)
    ])
    expect(fs.statSync(filename).size).toBeGreaterThan(48 * MIB)
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
)

const MIB = 1024 * 1024

it.live.skipIf(!fs.existsSync("/proc/self"))(
  "a file where the system has no place for a directory is refused at once",
  () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(DatabaseFile.prepare("/proc/holdfast/deeper/turns.db"))
      expect(message).toMatch(
        /^Could not create the database \/proc\/holdfast\/deeper\/turns\.db: the system said "ENOENT/
      )
    })
)

it.live("directories above a file are made for their owner alone", () =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const deep = `${dirname(filename)}/above/below/turns.db`
    yield* DatabaseFile.prepare(deep)
    yield* DatabaseFile.prepare(deep)
    expect([dirname(deep), dirname(dirname(deep))].map((folder) => fs.statSync(folder).mode & 0o777)).toEqual([
      0o700, 0o700
    ])
  }).pipe(Effect.scoped)
)
