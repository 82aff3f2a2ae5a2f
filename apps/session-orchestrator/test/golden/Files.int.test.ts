/**
 * A turn with an image in its prompt, as a database of version 0.1.0 keeps it, resumed by this version in process.
 *
 * The recording beside this file is made as those of `Golden.e2e.test.ts`:
 * `HOLDFAST_RECORD_GOLDEN=DIRECTORY vitest run --config vitest.workspace.ts golden/Files`.
 */
import { assert } from "@effect/vitest"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { TemporaryFile } from "@holdfast/journal/testing"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as Service from "../service/Service.ts"
import * as It from "../It.ts"

const image = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "chart.png" }
const prompt = [{ type: "text", text: "What is it?" }, image]

/** In the order in which they refer to each other. */
const TABLES = ["conversations", "turns", "turn_prompts", "events", "journal"] as const

type Rows = Readonly<Record<string, ReadonlyArray<Readonly<Record<string, string | number | null>>>>>

/** The recording as if it had been made two hours ago: its wait of an hour is over. Only times have 13 digits. */
const shifted = (json: string): Rows => {
  const [, recordedAt] = /"created_at": (\d{13})/.exec(json) ?? []
  const byMs = Date.now() - 2 * 3_600_000 - Number(recordedAt)
  return JSON.parse(json.replaceAll(/\b1\d{12}\b/g, (time) => String(Number(time) + byMs)))
}

const withSql = <A, E>(filename: string, use: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.flatMap(Layer.build(SqliteClient.layer({ filename })), (context) =>
      use(Context.get(context, SqlClient.SqlClient))
    )
  )

It.live("rule X1: a recorded turn with an image is resumed, and its provider gets the image", function* () {
  const recorded = shifted(fs.readFileSync(path.join(import.meta.dirname, "files.json"), "utf8"))
  const database = yield* TemporaryFile.temporaryFile
  yield* Effect.scoped(Layer.build(SqlStore.layer({ path: database })))
  yield* withSql(database, (sql) =>
    Effect.forEach(TABLES, (table) =>
      Effect.forEach(recorded[table] ?? [], (row) => sql`INSERT INTO ${sql(table)} ${sql.insert(row)}`)
    )
  )
  const provider = yield* ScriptedServer.start()
  const bodies: Array<string> = []
  provider.fallback(({ body }) => {
    bodies.push(String(body))
    return ProcessSetup.answer("A chart.")
  })
  const service = yield* Service.start({ provider, database, retry: Service.LONG })
  const answer = yield* service.call({ path: "/v1/turns/one/events", headers: { accept: "application/x-ndjson" } })
  const events = Service.eventsOf(answer.text)
  assert.deepInclude(events.at(-1), { type: "turn-end", status: "completed", attempts: 2 })
  const [message] = events.flatMap((event) => (event.type === "message" ? [event.message] : []))
  assert.deepStrictEqual<unknown>(message?.content, prompt)
  const haveImage = bodies.map((body) => body.includes(`data:image/png;base64,${image.data}`))
  assert.deepStrictEqual(haveImage, [true])
})

const target = process.env["HOLDFAST_RECORD_GOLDEN"]

if (target !== undefined) {
  It.live("a recording is made of a turn with an image that waits", function* () {
    const database = yield* TemporaryFile.temporaryFile
    const provider = yield* ScriptedServer.start()
    provider.fallback(ProcessSetup.overloaded)
    const service = yield* Service.start({ provider, database, retry: Service.LONG })
    const id = yield* service.create()
    const live = yield* service.open(ProcessSetup.request(id, "one", prompt))
    yield* live.until("provider-retry")
    yield* service.stop
    const rows: Record<string, unknown> = {}
    for (const table of TABLES)
      rows[table] = yield* withSql(database, (sql) => sql`SELECT * FROM ${sql(table)} ORDER BY 1, 2`)
    fs.writeFileSync(path.join(target, "files.json"), `${JSON.stringify(rows, null, 2)}\n`)
  })
}
