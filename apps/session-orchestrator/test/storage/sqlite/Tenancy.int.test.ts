/** Tests the ownership of a file between real processes. */
import { NodeSqlite } from "@holdfast/journal/sqlite"
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, expect } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import * as Inspection from "../../../src/insight/inspection/Inspection.ts"
import * as Backup from "../../../src/storage/sqlite/Backup.ts"
import * as FileLock from "../../../src/storage/sqlite/FileLock.ts"
import * as Tenancy from "../../../src/storage/sqlite/Tenancy.ts"
import * as It from "../../It.ts"

const HOLDER = fileURLToPath(new URL("LockHolder.ts", import.meta.url))

/** Starts a holder; `said` is its first line, or the error of its refusal. */
const holder = (filename: string, kind = "owner") =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [HOLDER, filename, kind], { stdio: ["ignore", "pipe", "pipe"] })
      const said = Promise.race([
        once(child.stdout.setEncoding("utf8"), "data"),
        once(child.stderr.setEncoding("utf8"), "data")
      ])
      return { child, said: Effect.promise(() => said.then(([text]) => String(text).trim())) }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  )

const kill = (child: ChildProcess) =>
  Effect.promise(() => {
    const closed = once(child, "close")
    child.kill("SIGKILL")
    return closed
  })

const owning = (filename: string) => Layer.build(Tenancy.layerOwner(filename))

const lockOf = (filename: string): string => `${filename}.lock`

It.live("Tenancy.T1: a second owner is refused; the error names the file, its owner and the next step", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Tenancy.refuseOwned(filename)
  const { child, said } = yield* holder(filename)
  yield* said
  const { message } = yield* Effect.flip(owning(filename))
  expect(yield* Effect.flip(Tenancy.refuseOwned(filename))).toMatchObject({ message })
  expect(message).toContain(`The database ${filename} belongs to another Holdfast (process ${child.pid} on `)
  expect(message).toContain(", at http://127.0.0.1:4747, since ")
  expect(message).toContain(`stop it with: kill ${child.pid}; or set database.path to another file.`)
  const owner = yield* Tenancy.ownerOf(filename)
  assert.isObject(owner)
  expect(owner).toMatchObject({ pid: child.pid, url: "http://127.0.0.1:4747" })
  // Reading the lock did not release it.
  yield* Effect.flip(owning(filename))
})

It.live("a file is the same file under each of its paths", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* owning(filename)
  const link = path.join(path.dirname(path.dirname(filename)), "link.db")
  fs.symlinkSync(filename, link)
  expect((yield* Effect.flip(owning(link))).message).toContain(`process ${process.pid} `)
})

It.live("Tenancy.T1: of many processes that start at once one owns the file", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  const holders = yield* Effect.forEach([1, 2, 3], () => holder(filename))
  const said = yield* Effect.forEach(holders, (each) => each.said, { concurrency: "unbounded" })
  expect(said.filter((text) => !text.includes("belongs to another Holdfast"))).toHaveLength(1)
})

It.live("FileLock.L1: a lock whose holder nothing refers to any more is held", function* () {
  const filename = lockOf(yield* TemporaryFile.temporaryFile)
  fs.mkdirSync(path.dirname(filename))
  expect(FileLock.acquireUnsafe(filename, "first")._tag).toBe("Held")
  v8.setFlagsFromString("--expose-gc")
  const collect = vm.runInNewContext("gc") as () => void // what V8 offers behind the flag
  for (let i = 0; i < 3; i++) {
    collect()
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  expect(FileLock.acquireUnsafe(filename, "second")).toEqual({ _tag: "Taken", note: "first" })
})

It.live("the error of a lock that cannot be taken names the file and the things to check", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  fs.mkdirSync(lockOf(filename), { recursive: true })
  const { message } = yield* Effect.flip(owning(filename))
  expect(message).toContain(`Could not lock the database ${filename}`)
  expect(message).toContain("Check that its directory can be written by this user")
})

It.live("a database in memory needs no lock", function* () {
  yield* owning(":memory:")
  yield* owning(":memory:")
  expect(fs.existsSync(":memory:.lock")).toBe(false)
})

It.live("the database of another program is refused, and nothing is written; an empty file is taken", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  fs.mkdirSync(path.dirname(filename))
  NodeSqlite.using(filename, {}, (database) => database.exec("CREATE TABLE users (id INTEGER)"))
  const before = fs.readFileSync(filename)
  const attempts = [
    Effect.flip(owning(filename)),
    Effect.flip(Layer.build(Inspection.layerSqlite(filename, { prices: {}, retry: {} }))),
    Effect.flip(Backup.make(filename, `${filename}.copy`, () => {})),
    Effect.flip(Tenancy.check(filename))
  ]
  for (const { message } of yield* Effect.all(attempts))
    expect(message).toContain(`The database ${filename} is of another program: it has the table "users"`)
  expect(fs.readFileSync(filename)).toEqual(before)
  expect(fs.readdirSync(path.dirname(filename))).toEqual(["holdfast.db"])
  fs.truncateSync(filename)
  yield* owning(filename)
  yield* Tenancy.check(filename)
})

It.live("a check refuses what cannot be opened, owned or created, and creates nothing", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  const folder = path.dirname(filename)
  yield* Tenancy.check(":memory:")
  yield* Tenancy.check(filename)
  expect(fs.existsSync(folder)).toBe(false)
  fs.mkdirSync(folder)
  NodeSqlite.using(filename, {}, (database) => database.exec("PRAGMA journal_mode = WAL"))
  const [text, linked] = [path.join(folder, "text"), path.join(folder, "linked")]
  fs.writeFileSync(text, "This is no database.")
  fs.linkSync(filename, linked)
  const before = fs.readdirSync(folder)
  for (const [refused, why] of [
    [folder, "Could not open the database"],
    [path.join(text, "holdfast.db"), "Could not create the database"],
    [text, "The file is no SQLite database"],
    [linked, "2 names (hard links)"]
  ] as const)
    expect((yield* Effect.flip(Tenancy.check(refused))).message).toContain(why)
  fs.rmSync(linked)
  yield* Tenancy.check(filename)
  expect(fs.readdirSync(folder)).toEqual(before.filter((name) => name !== "linked"))
})

It.live("Tenancy.T4: a file with two names is refused under both, and can be owned with one of them", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  const other = path.join(path.dirname(filename), "other.db")
  const first = yield* holder(filename)
  yield* first.said
  fs.linkSync(filename, other)
  for (const name of [filename, other]) {
    const { message } = yield* Effect.flip(owning(name))
    expect(message).toContain(`The database ${name} is one file with 2 names (hard links).`)
    expect(message).toContain(`find / -xdev -inum ${fs.statSync(name).ino}`)
  }
  const copy = path.join(path.dirname(filename), "copy.db")
  expect((yield* Effect.flip(Backup.make(other, copy, () => {}))).message).toContain("2 names (hard links)")
  expect(fs.readdirSync(path.dirname(filename)).sort()).toEqual(["holdfast.db", "holdfast.db.lock", "other.db"])
  yield* kill(first.child)
  yield* Effect.flip(owning(filename))
  fs.rmSync(other)
  yield* owning(filename)
})
