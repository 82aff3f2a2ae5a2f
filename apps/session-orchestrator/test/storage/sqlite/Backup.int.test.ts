/** Tests copies of a database that other processes write to. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { DatabaseSync, type SQLOutputValue } from "node:sqlite"
import { fileURLToPath } from "node:url"
import * as Backup from "../../../src/storage/sqlite/Backup.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as NumberedData from "../NumberedData.ts"
import * as Logged from "../Logged.ts"
import * as It from "../../It.ts"

const quietly = (): void => {}

/** A database with one conversation and one turn in it. */
const given = Effect.gen(function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.provide(NumberedData.oneTurn, SqlStore.layer({ path: filename }))
  const copies = path.join(path.dirname(path.dirname(filename)), "copies")
  fs.mkdirSync(copies)
  return { filename, copies, to: path.join(copies, "copy.db") }
})

/** Starts a process that writes without a pause, and waits until it has written some events. */
const writer = (filename: string, events: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(
        process.execPath,
        [fileURLToPath(new URL("../WriterProcess.ts", import.meta.url)), filename],
        { stdio: ["ignore", "pipe", "inherit"] }
      )
      let lines = 0
      const told = (): number => lines
      await new Promise<void>((resolve) =>
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          lines += text.split("\n").length - 1
          if (lines >= events) resolve()
        })
      )
      return { child, told }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  )

/** Removes some rows from an index, which is damage that only a complete read finds. */
const withoutEntries = (filename: string, rows: number): void => {
  const write = (act: (database: DatabaseSync) => void): void => {
    const database = new DatabaseSync(filename, { defensive: false })
    database.exec("PRAGMA writable_schema = ON")
    act(database)
    database.close()
  }
  let index: Record<string, SQLOutputValue> = {}
  write((database) => {
    database.exec("CREATE TABLE damaged (n); CREATE INDEX damaged_n ON damaged (n)")
    index = database.prepare("SELECT * FROM sqlite_schema WHERE name = 'damaged_n'").get() ?? {}
    database.exec("DELETE FROM sqlite_schema WHERE name = 'damaged_n'")
  })
  write((database) => {
    for (let n = 0; n < rows; n++) database.prepare("INSERT INTO damaged VALUES (?)").run(n)
    const { name = "", rootpage = 0, sql = "", tbl_name = "", type = "" } = index
    database.prepare("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)").run(type, name, tbl_name, rootpage, sql)
  })
}

describe("a backup", () => {
  It.live("has the same contents, in one file, for its owner only", function* () {
    const { copies, filename, to } = yield* given
    const summary = yield* Backup.make(filename, to, quietly)
    expect(summary).toEqual({ bytes: fs.statSync(to).size, conversations: 1, turns: 1, unsealed: 1 })
    expect(fs.readdirSync(copies)).toEqual(["copy.db"])
    expect(fs.statSync(to).mode & 0o777).toBe(0o600)
    const turns = yield* Effect.provide(Logged.tail(), SqlStore.layer({ path: to }))
    expect(turns.map(({ turnId }) => turnId)).toEqual([NumberedData.turnId(1)])
  })

  It.live("is of one moment while another process writes, and delays no writer", function* () {
    const { copies } = yield* given
    const filename = yield* TemporaryFile.temporaryFile
    const { child, told } = yield* writer(filename, 12_000)
    const to = path.join(copies, "busy.db")
    let seen: Array<Backup.Progress> = []
    // The writer, and the event loop of this process, were free meanwhile. On a busy machine the writer may have had no turn during one copy.
    for (let before = told(); told() === before;) {
      before = told()
      seen = []
      fs.rmSync(to, { force: true })
      yield* Backup.make(filename, to, (progress) => seen.push(progress))
    }
    expect(child.exitCode).toBeNull()
    expect(seen.length).toBeGreaterThan(1)
    const { size } = fs.statSync(to)
    expect(seen.at(-1)).toEqual({ copiedBytes: size, totalBytes: size })
    yield* Effect.gen(function* () {
      for (const of of [0, 1]) {
        const events = yield* Stream.runCollect(Logged.after(NumberedData.conversationId(of), 0))
        expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1))
        const messages = yield* Logged.history(NumberedData.conversationId(of))
        expect(messages).toEqual(events.flatMap(({ event }) => (event.type === "message" ? [event.message] : [])))
      }
    }).pipe(Effect.provide(SqlStore.layer({ path: to })))
  })

  It.live("an existing file is not touched", function* () {
    const { copies, filename, to } = yield* given
    fs.writeFileSync(to, "mine")
    const { message } = yield* Effect.flip(Backup.make(filename, to, quietly))
    expect(message).toBe(`${to} exists and was not changed. Choose another name.`)
    expect(fs.readFileSync(to, "utf8")).toBe("mine")
    expect(fs.readdirSync(copies)).toEqual(["copy.db"])
  })

  It.live("an interrupted copy stops, and leaves no file", function* () {
    const { copies, filename, to } = yield* given
    yield* SqliteClient.make({ filename }).pipe(
      Effect.flatMap((sql) =>
        Effect.andThen(sql`CREATE TABLE filler (bytes BLOB)`, sql`INSERT INTO filler VALUES (zeroblob(40000000))`)
      ),
      Effect.provide(Reactivity.layer),
      Effect.scoped
    )
    let steps = 0
    const begun = yield* Deferred.make<void>()
    const backup = yield* Effect.forkChild(
      Backup.make(filename, to, () => {
        steps++
        Deferred.doneUnsafe(begun, Effect.void)
      })
    )
    yield* Deferred.await(begun)
    expect(fs.readdirSync(copies)).toContainEqual(expect.stringMatching(/^copy\.db\.part-/))
    yield* Fiber.interrupt(backup)
    expect(fs.readdirSync(copies)).toEqual([])
    const before = steps
    // The next copy succeeds. While it was made from start to end, the first one would have continued.
    yield* Backup.make(filename, path.join(copies, "other.db"), quietly)
    expect(steps - before).toBeLessThanOrEqual(1)
  })

  It.live("no backup is made of a damaged database", function* () {
    const { copies, filename, to } = yield* given
    const bytes = fs.readFileSync(filename)
    // A page of an index: the tables still read.
    fs.writeFileSync(filename, bytes.fill(0x41, bytes.length - 4096 * 3))
    const { message } = yield* Effect.flip(Backup.make(filename, to, quietly))
    expect(message).toMatch(/damaged|malformed/)
    expect(fs.readdirSync(copies)).toEqual([])
  })

  It.live("a copy with damage is deleted, and the error names the first faults", function* () {
    const { copies, filename, to } = yield* given
    withoutEntries(filename, 5)
    const { message } = yield* Effect.flip(Backup.make(filename, to, quietly))
    expect(message).toMatch(/the copy is damaged, as the database may be: [^;]+; [^;]+; [^;]+"\. Check/)
    expect(fs.readdirSync(copies)).toEqual([])
  })

  It.live("of a missing database, or into a missing directory, fails with an error that names it", function* () {
    const { filename, to } = yield* given
    expect((yield* Effect.flip(Backup.make(`${filename}.none`, to, quietly))).message).toContain("There is no database")
    expect((yield* Effect.flip(Backup.make(path.dirname(filename), to, quietly))).message).toContain(
      `There is no database at ${path.dirname(filename)}, which is a directory, so there is nothing to back up.`
    )
    const nowhere = path.join(to, "below", "copy.db")
    expect((yield* Effect.flip(Backup.make(filename, nowhere, quietly))).message).toContain(
      `Could not back up to ${nowhere}: the system said "ENOENT`
    )
  })
})
