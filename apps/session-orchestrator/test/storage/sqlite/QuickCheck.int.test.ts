import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as QuickCheck from "../../../src/storage/sqlite/QuickCheck.ts"
import * as It from "../../It.ts"

const PAGE = 4_096

/** A closed file with a table whose rows take several pages each. */
const filled = Effect.map(TemporaryFile.temporaryFile, (filename) => {
  fs.mkdirSync(path.dirname(filename), { recursive: true })
  const database = new DatabaseSync(filename)
  database.exec(`PRAGMA page_size = ${PAGE}; BEGIN; CREATE TABLE a (text TEXT)`)
  const insert = database.prepare("INSERT INTO a VALUES (?)")
  for (let n = 0; n < 50; n++) insert.run("x".repeat(3 * PAGE))
  database.exec("COMMIT")
  database.close()
  return filename
})

const overwrite = (filename: string, from: number, bytes: number): void => {
  const file = fs.openSync(filename, "r+")
  fs.writeSync(file, Buffer.alloc(bytes, 0x5a), 0, bytes, from)
  fs.closeSync(file)
}

describe("the check of a SQLite file", () => {
  It.effect("rule D3: finds a file that is no database", function* () {
    const filename = yield* filled
    overwrite(filename, 0, 100)
    assert.strictEqual(QuickCheck.faultsIn(filename), "file is not a database")
    overwrite(filename, 0, 2 * PAGE)
    fs.writeFileSync(filename, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(2 * PAGE)]))
    assert.isString(QuickCheck.faultsIn(filename))
  })

  It.effect("rule D3: reports nothing for a file that cannot be read now, and closes it", function* () {
    const filename = yield* filled
    const other = new DatabaseSync(filename)
    other.exec("BEGIN EXCLUSIVE")
    assert.isUndefined(QuickCheck.faultsIn(filename))
    other.exec("COMMIT")
    assert.isUndefined(QuickCheck.faultsIn(filename))
    // A reader that was left open would hold a lock.
    other.exec("BEGIN EXCLUSIVE")
    other.close()
    assert.throws(() => QuickCheck.faultsIn(`${filename}.missing`))
  })
})
