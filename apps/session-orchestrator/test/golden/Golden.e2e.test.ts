/**
 * Databases of version 0.1.0, whose turns this version resumes: every phase comes to the same end, on both databases.
 *
 * After the release of 0.1.0 the recordings beside this file are never made anew: a change that cannot resume them breaks the databases of
 * users. A later format gets a set of its own: `HOLDFAST_RECORD_GOLDEN=DIRECTORY vitest run --config vitest.workspace.ts Golden.e2e`.
 */
import { SqliteClient } from "@holdfast/journal/sqlite"
import { assert, describe } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import { freePort } from "../FreePort.ts"
import * as ProcessSetup from "../service/ProcessSetup.ts"
import * as WatchingClient from "../service/WatchingClient.ts"
import * as Process from "../service/Process.ts"
import * as Postgres from "../../src/storage/sql/Postgres.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as EventLines from "./EventLines.ts"
import { configOf, type Phase, phases } from "./Phases.ts"
import * as Snapshot from "./Snapshot.ts"
import * as It from "../It.ts"

/** A database that a process is started on. */
interface Database {
  readonly client: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError | StorageError>
  readonly env: Readonly<Record<string, string>>
  readonly directory: string
}

const sqlite = Effect.gen(function* () {
  const directory = yield* Process.directory
  const filename = path.join(directory, "holdfast.db")
  return { directory, client: SqliteClient.layer({ filename }), env: { HOLDFAST_DATABASE_PATH: filename } }
})

const postgres = Effect.gen(function* () {
  const server = yield* PostgresServer.start
  const url = yield* server.database
  const port = yield* freePort
  return {
    directory: yield* Process.directory,
    client: Postgres.layerClient({ url }),
    env: { HOLDFAST_DATABASE_URL: Redacted.value(url), HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${port}` }
  }
})

const databases: Readonly<Record<string, Effect.Effect<Database, never, Scope.Scope>>> = { sqlite, postgres }

const fileOf = (name: string): string => path.join(import.meta.dirname, name)

const readJson = (name: string) => JSON.parse(fs.readFileSync(fileOf(name), "utf8"))

/** What a conversation came to: a line an event, and how often its provider was called after the restart. */
type Ends = Readonly<Record<string, { readonly lines: ReadonlyArray<string>; readonly calls: number }>>

describe("journals that version 0.1.0 wrote", () => {
  for (const [name, make] of Object.entries(databases)) {
    It.live(`rule X1: are resumed to the same end, whatever phase their turns were in: ${name}`, function* () {
      const ends = yield* replay(yield* make, readJson(`${name}.json`))
      assert.deepStrictEqual(ends, readJson("ends.json"))
    })
  }
})

const target = process.env["HOLDFAST_RECORD_GOLDEN"]

if (target !== undefined) {
  It.live("a recording is made of both databases, and of what their turns come to", function* () {
    for (const [name, make] of Object.entries(databases)) {
      const snapshot = yield* Effect.scoped(Effect.flatMap(make, record))
      const ends = yield* Effect.scoped(Effect.flatMap(make, (database) => replay(database, snapshot)))
      write(`${name}.json`, snapshot)
      write(`ends-${name}.json`, ends)
    }
  })
}

// --- internal

/** Longer than any wait of a recording: all of them are over, and no question is. */
const AGO_MS = 120_000

const write = (name: string, content: unknown): void =>
  fs.writeFileSync(path.join(target ?? "", name), `${JSON.stringify(content, null, 2)}\n`)

const SAYS = phases.flatMap(({ says }) => Object.entries(says))

/** A provider with each phase's answers to its prompts, `before` the kill (0) or after it (1). */
const provide = Effect.fnUntraced(function* (when: 0 | 1) {
  const provider = yield* ScriptedServer.start()
  const calls = ProcessSetup.script(provider, Object.fromEntries(SAYS.map(([prompt, says]) => [prompt, says[when]])))
  const of = (phase: Phase) => calls.filter((prompt) => Object.hasOwn(phase.says, prompt)).length
  return { provider, of }
})

const rows = <A extends object>(
  { client }: Database,
  query: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>
) => Effect.scoped(Effect.flatMap(Layer.build(client), (context) => query(Context.get(context, SqlClient.SqlClient))))

/** Runs every phase up to its point, kills the process, and gives what is on disk. */
const record = Effect.fnUntraced(function* (database: Database) {
  const { of, provider } = yield* provide(0)
  const service = yield* Process.start({ ...database, config: configOf(provider) })
  const begun = yield* Effect.forEach(
    phases,
    (phase) =>
      Effect.gen(function* () {
        const id = yield* service.create(phase.conversation)
        assert.isDefined(id, phase.name)
        for (const { awaited, prompt } of phase.turns) {
          const request = ProcessSetup.request(id, prompt ?? "")
          const live = yield* service.open(
            prompt === undefined ? { ...request, path: `/v1/conversations/${id}/retry`, body: {} } : request
          )
          if (awaited) yield* live.until("turn-end")
        }
        if (phase.commands !== undefined) {
          yield* Process.eventually("the second wait", service.state(id), ({ attempt }) => attempt === 1)
          yield* command(service, id, phase.commands)
        }
        return { id, phase }
      }),
    { concurrency: 4 }
  )
  for (const { id, phase } of begun) {
    yield* Process.reaches(`${phase.name} to be called`, () => of(phase), phase.calls)
    const { reached } = phase
    if (reached === undefined) continue
    const [name, count] = reached
    yield* Process.eventually(
      `${phase.name} to reach ${name}`,
      rows(
        database,
        (sql) => sql<{ readonly name: string }>`
          SELECT j.name FROM journal j JOIN turns t ON t.number = j.turn
          JOIN conversations c ON c.number = t.conversation
          WHERE c.conversation_id = ${id} AND j.name LIKE ${`%${name}`}`
      ),
      (names) => names.length === count
    )
  }
  yield* service.end("SIGKILL")
  return yield* Effect.scoped(
    Effect.flatMap(Layer.build(database.client), (context) => Effect.provide(Snapshot.read, context))
  )
})

/** Starts a process on a recording, and gives what every conversation has come to. */
const replay = Effect.fnUntraced(function* (database: Database, snapshot: Snapshot.Snapshot) {
  yield* Effect.scoped(
    Effect.flatMap(Layer.build(database.client), (context) => Effect.provide(Snapshot.write(snapshot, AGO_MS), context))
  )
  // Tools that run again come to their end.
  fs.writeFileSync(path.join(database.directory, "gate"), "")
  const { of, provider } = yield* provide(1)
  const service = yield* Process.start({ ...database, config: configOf(provider) })
  const conversations = yield* rows(
    database,
    (sql) => sql<{ readonly id: string; readonly turn: string }>`
      SELECT c.conversation_id AS id, min(t.number) AS number, t.turn_id AS turn FROM conversations c
      JOIN turns t ON t.conversation = c.number GROUP BY c.conversation_id, t.turn_id`
  )
  const ends: Record<string, Ends[string]> = {}
  for (const phase of phases) {
    const prompt = phase.turns[0]?.prompt
    const { id } = conversations.find(({ turn }) => turn === prompt) ?? assert.fail(`${phase.name} is not there`)
    if (phase.commandsAfter !== undefined) {
      yield* Process.eventually("the question", service.state(id), ({ retry }) => retry?.asks !== undefined)
      yield* command(service, id, phase.commandsAfter)
    }
    const watcher = new WatchingClient.WatchingClient()
    const live = yield* service.open({ path: `/v1/conversations/${id}/events` })
    yield* Effect.forkScoped(Effect.ignore(WatchingClient.follow(watcher, live)))
    yield* Process.eventually(
      `the end of ${phase.name}`,
      Effect.sync(() => EventLines.linesOf(watcher.events)),
      (lines) => lines.filter((line) => line.startsWith("turn-end")).length === phase.turns.length
    )
    assert.deepStrictEqual(watcher.faults, [], phase.name)
    ends[phase.name] = { lines: EventLines.linesOf(watcher.events), calls: of(phase) }
  }
  assert.strictEqual((yield* service.end("SIGTERM")).code, 0)
  return ends
})

const command = (service: ProcessSetup.Running, id: string, commands: NonNullable<Phase["commands"]>) =>
  Effect.forEach(commands, ([name, body]) =>
    Effect.map(service.call({ path: `/v1/conversations/${id}/${name}`, body }), ({ status, text }) =>
      assert.strictEqual(status, 202, text)
    )
  )
