/** A turn in a SQLite file, over the death of its process. */
import { assert, it } from "vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { holdfast } from "../src/index.ts"
import { sqliteStore } from "../src/stores/Sqlite.ts"

const PROGRAM = fileURLToPath(new URL("WaitingProgram.ts", import.meta.url))

it("rule X1: a turn that was killed in its wait is resumed from the file, with its attempts and its wake time", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "holdfast-")), "turns.db")
  const child = spawn(process.execPath, [PROGRAM, file], { stdio: ["ignore", "pipe", "inherit"] })
  const [line] = await once(createInterface(child.stdout), "line")
  const { retryAt } = JSON.parse(String(line))
  child.kill("SIGKILL")
  await once(child, "exit")

  const store = sqliteStore(file)
  const attempts: Array<number> = []
  const hf = holdfast({
    store,
    model: async function* ({ attempt }) {
      attempts.push(attempt)
      yield "Still here."
    }
  })
  const [turn] = await hf.resume()
  assert.strictEqual(turn?.id, "t1")
  for await (const event of turn ?? []) {
    if (event.type !== "provider-retry") continue
    assert.strictEqual(event.retryAt, retryAt)
    break
  }
  assert.isTrue(turn?.retryNow())
  assert.deepInclude(await turn?.result, { status: "completed", text: "Still here.", attempts: 2 })
  assert.deepStrictEqual(attempts, [1])
  assert.deepStrictEqual(await hf.resume(), [])
  store.close()
})

it("a file that cannot be opened is named, with the reason and the remedy", () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-"))
  const text = join(folder, "text.db")
  writeFileSync(text, "No database. ".repeat(100))
  for (const [file, why] of [
    [join(folder, "missing", "turns.db"), "unable to open database file"],
    [text, "file is not a database"]
  ] as const)
    assert.throws(() => sqliteStore(file), `sqliteStore: ${file} cannot be opened: ${why}. Its folder must exist`)
})

it("a file of a later version is refused, and not changed", () => {
  const file = join(mkdtempSync(join(tmpdir(), "holdfast-")), "turns.db")
  const store = sqliteStore(file)
  store.put("version", "2")
  store.put("open/t1", "open")
  store.close()
  assert.throws(
    () => sqliteStore(file),
    `sqliteStore: ${file} has version 2, and this version of holdfast reads up to 1. Use the newer version that changed it, or another file.`
  )
  const database = new DatabaseSync(file)
  assert.deepStrictEqual(
    database
      .prepare("SELECT value FROM holdfast ORDER BY key")
      .all()
      .map(({ value }) => value),
    ["open", "2"]
  )
  database.close()
})
