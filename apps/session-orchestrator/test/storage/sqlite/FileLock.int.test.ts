/** Tests a file lock within one process; `Tenancy.int.test.ts` tests it between several. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as FileLock from "../../../src/storage/sqlite/FileLock.ts"
import * as It from "../../It.ts"

/** The path of a lock in a directory that exists. */
const lockFile = Effect.map(TemporaryFile.temporaryFile, (filename) => {
  fs.mkdirSync(path.dirname(filename))
  return `${filename}.lock`
})

const held = (attempt: FileLock.Attempt) => (attempt._tag === "Held" ? attempt : assert.fail("it is taken"))

/** The lock file of a holder that died. */
const leave = (filename: string, note: string): void => {
  const database = new DatabaseSync(filename)
  database.exec("CREATE TABLE holder (holder_id INTEGER PRIMARY KEY, note TEXT NOT NULL)")
  database.prepare("INSERT INTO holder VALUES (1, ?)").run(note)
  database.close()
}

describe("a lock on a file", () => {
  It.effect("FileLock.L1: has one holder, whose note the others read; releasing deletes the file", function* () {
    const filename = yield* lockFile
    assert.isUndefined(FileLock.holderUnsafe(filename))
    const first = held(FileLock.acquireUnsafe(filename, "first"))
    assert.isUndefined(first.left)
    assert.deepStrictEqual(FileLock.acquireUnsafe(filename, "second"), { _tag: "Taken", note: "first" })
    assert.deepStrictEqual(FileLock.holderUnsafe(filename), { note: "first" })
    first.release()
    assert.isFalse(fs.existsSync(filename))
    assert.isUndefined(FileLock.holderUnsafe(filename))
    const second = held(FileLock.acquireUnsafe(filename, "second"))
    assert.isUndefined(second.left)
    second.release()
  })

  It.effect("is readable by its owner only", function* () {
    const filename = yield* lockFile
    const { release } = held(FileLock.acquireUnsafe(filename, "first"))
    assert.strictEqual(fs.statSync(filename).mode & 0o777, 0o600)
    release()
  })

  It.effect("cannot be taken on a file of another kind, and closes that file", function* () {
    const filename = yield* lockFile
    fs.writeFileSync(filename, "This is a letter, and longer than the head of a database. ".repeat(10))
    assert.throws(() => FileLock.acquireUnsafe(filename, "first"), "file is not a database")
    assert.throws(() => FileLock.holderUnsafe(filename), "file is not a database")
    assert.deepStrictEqual(openFiles(filename), [])
  })

  It.effect("cannot be taken while another process reads its file, because of the note, but afterwards", function* () {
    const filename = yield* lockFile
    leave(filename, "dead")
    const reader = new DatabaseSync(filename)
    reader.exec("BEGIN")
    reader.prepare("SELECT note FROM holder").get()
    assert.strictEqual(FileLock.acquireUnsafe(filename, "first")._tag, "Taken")
    reader.close()
    const next = held(FileLock.acquireUnsafe(filename, "second"))
    assert.strictEqual(next.left, "dead")
    next.release()
    assert.deepStrictEqual(openFiles(filename), [])
  })
})

/** The descriptors of this process that are open on a file. */
const openFiles = (filename: string): ReadonlyArray<string> => {
  const folder = "/proc/self/fd"
  if (!fs.existsSync(folder)) return []
  return fs.readdirSync(folder).filter((name) => {
    try {
      return fs.readlinkSync(path.join(folder, name)).startsWith(filename)
    } catch {
      return false // it was closed meanwhile
    }
  })
}
