/**
 * The longest stretch of the event loop in calls that read or write thousands of turns, on both databases: what holds up every stream.
 *
 * The database has 100,000 turns (`lists/Night.ts`). Those that failed have the records of a turn of four attempts, and the others those of
 * one. A stretch is CPU of the main thread (`stretches/Recorder.mjs`).
 */
import { PgClient } from "@effect/sql-pg"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Count } from "@holdfast/wire"
import { Effect, ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Agent, request } from "undici"
import * as FigureTable from "./FigureTable.ts"
import * as Night from "./lists/Night.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as Trees from "./Trees.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 100_000)
const CALLS = Number(process.env["HOLDFAST_BENCH_CALLS"] ?? 7)
/** The first calls compile what they run. */
const WARM_UP = 2
/** Turns of a report and of a replay. */
const MANY = 5_000
/** Measures only the rows whose names have this, and one database: for a look at one change. */
const ONLY = process.env["HOLDFAST_BENCH_ROWS"] ?? ""
const DATABASES = (["SQLite", "PostgreSQL"] as const).filter(
  (database) => database === (process.env["HOLDFAST_BENCH_DATABASE"] ?? database)
)

/** Of the longest stretch. */
const AIM_MS = 20

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const failing = await Processes.server(place, "parking/FailingServer.ts")
    const answering = await Processes.server(place, "FakeProvider.ts")
    const postgres = await Postgres.start()
    try {
      for (const database of DATABASES) await measure(place, database, [failing.port, answering.port], postgres)
    } finally {
      await postgres.stop()
    }
  })

// --- internal

type Database = (typeof DATABASES)[number]

interface Call {
  readonly name: string
  readonly path: string | ((n: number) => string)
  readonly method?: "GET" | "POST" | "DELETE"
  readonly body?: object
  readonly calls?: number
}

interface Subject {
  readonly ask: (method: NonNullable<Call["method"]>, path: string, body?: object) => Promise<string>
  readonly cpuMs: () => number
  /** The longest stretch since the last call. */
  readonly longest: () => Promise<number>
  readonly close: () => Promise<void>
}

interface Samples {
  readonly stretch: Array<number>
  readonly cpu: Array<number>
}

const since = Night.acceptedAt(TURNS - MANY, TURNS)
const REPLAY = { replay: { since } }
const AGAINST = { ...REPLAY, against: { retry: { maxRetries: 20 } } }

const calls: ReadonlyArray<Call> = [
  { name: `report of ${Count.of(MANY, "turn")}`, path: `/v1/report?since=${since}` },
  { name: "report of a conversation of thousands", path: "/v1/report?conversation=conversation-1" },
  { name: `replay of ${Count.of(MANY, "turn")}, two policies`, path: "/v1/dry-run", method: "POST", body: AGAINST },
  { name: `replay with a picture`, path: "/v1/dry-run", method: "POST", body: { ...REPLAY, picture: true } },
  {
    name: "dry run of 1,000 turns over a night",
    path: "/v1/dry-run",
    method: "POST",
    body: { outages: ["529 for 7h"], turns: 1_000, picture: true }
  },
  { name: "turns, 200 of a page", path: "/v1/turns?limit=200" },
  { name: "turns by model, 200 of a page", path: "/v1/turns?limit=200&model=openai" },
  { name: "turns with a rare word", path: `/v1/turns?search=${Night.RARE}` },
  { name: "turns with a word that none has", path: "/v1/turns?search=xylophone" },
  { name: "turns with a common word, 200 of a page", path: `/v1/turns?limit=200&search=${Night.COMMON}` },
  { name: "turns with a key of JSON", path: "/v1/turns?search=createdAt" },
  { name: "conversations with a word that none has", path: "/v1/conversations?search=xylophone" },
  { name: "messages of a conversation of thousands", path: "/v1/conversations/conversation-1/messages" },
  {
    name: "a prompt in a conversation of thousands",
    path: "/v1/conversations/conversation-1/turns",
    method: "POST",
    body: { prompt: "next" }
  },
  {
    name: "courses of 50 turns",
    path: "/v1/turns/courses",
    method: "POST",
    body: { turnIds: Array.from({ length: 50 }, (_, n) => `turn-${TURNS - n}`) }
  },
  {
    name: "a conversation of four turns deleted",
    path: (n) => `/v1/conversations/conversation-${100 + n}`,
    method: "DELETE"
  },
  {
    name: "a conversation of thousands deleted",
    path: "/v1/conversations/conversation-1",
    method: "DELETE",
    calls: 1
  }
]

const measure = async (
  place: Processes.Place,
  database: Database,
  providers: readonly [number, number],
  postgres: Postgres.Server
): Promise<void> => {
  const subjects: Array<Subject> = []
  try {
    for (const tree of [Trees.here, ...(Trees.beside === undefined ? [] : [Trees.beside])]) {
      const url = database === "SQLite" ? undefined : await postgres.database(`stretches_${tree.name}`)
      subjects.push(await subjectOf(place, database, tree, providers, url))
    }
    const rows: Array<FigureTable.Row> = []
    for (const call of calls) {
      if (!call.name.includes(ONLY)) continue
      const [here, beside] = await sample(call, subjects)
      if (here !== undefined) rows.push(...rowsOf(call, here, beside))
    }
    FigureTable.print(`Stretches of the event loop with ${Count.of(TURNS, "turn")} on ${database}`, rows)
  } finally {
    for (const { close } of subjects) await close()
  }
}

/** A service with the turns of a night. */
const subjectOf = async (
  { children, folder: root }: Processes.Place,
  database: Database,
  tree: Trees.Tree,
  [failing, answering]: readonly [number, number],
  url: string | undefined
): Promise<Subject> => {
  const folder = join(root, `stretches-${database}-${tree.name}`)
  mkdirSync(folder)
  const file = join(folder, "stretches.db")
  const recorder = await Postgres.freePort()
  const start = async () => {
    const service = await Processes.serve(children, folder, {
      name: "stretches",
      tree,
      node: ["--import", join(import.meta.dirname, "stretches/Recorder.mjs")],
      config: {
        database: { path: file },
        model: "answering/m",
        providers: {
          failing: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${failing}/v1` },
          answering: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${answering}/deltas=5/v1` }
        },
        telemetry: { retryLog: false },
        gate: { enabled: false },
        retry: { schedule: { type: "steps", delays: ["20 millis"], tail: "20 millis" }, maxRetries: 3 }
      },
      env: {
        HOLDFAST_BENCH_RECORDER: String(recorder),
        ...(url === undefined
          ? {}
          : { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${await Postgres.freePort()}` })
      }
    })
    while (!(await fetch(`http://127.0.0.1:${service.port}/readyz`)).ok) await Processes.pause(50)
    return service
  }
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const asking =
    (port: number): Subject["ask"] =>
    async (method, path, body) => {
      const response = await request(`http://127.0.0.1:${port}${path}`, {
        dispatcher: agent,
        method,
        headers: { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body)
      })
      const text = await response.body.text()
      if (response.statusCode >= 300) throw new Error(`${path}: ${response.statusCode} ${text}`)
      return text
    }
  // The first start makes the tables, and later the turns whose records all others have. Night's rows begin at 1.
  await Processes.stop(await start())
  await inDatabase(file, url, Night.write(TURNS))
  const first = await start()
  for (const [turnId, model] of Object.entries(MODELS))
    await asking(first.port)("POST", "/v1/turns", { turnId, model, prompt: "go" })
  for (const turnId of Object.keys(MODELS))
    while (JSON.parse(await asking(first.port)("GET", `/v1/turns/${turnId}`)).status !== turnId)
      await Processes.pause(20)
  await Processes.stop(first)
  await inDatabase(file, url, records)
  const service = await start()
  return {
    ask: asking(service.port),
    cpuMs: () => Processes.cpuMs(service),
    longest: async () => JSON.parse(await (await fetch(`http://127.0.0.1:${recorder}`)).text()).longest,
    close: async () => {
      await agent.destroy()
      await Processes.stop(service, "SIGKILL")
    }
  }
}

/** The models of two turns, by their ids: the states that they end in. */
const MODELS = { completed: "answering/m", failed: "failing/m" }

/** Gives the newest turns of the night the records of these turns. */
const records = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const turnId of Object.keys(MODELS))
    yield* sql.unsafe(`INSERT INTO journal (turn, seq, name, value)
      SELECT t.number, j.seq, j.name, j.value
      FROM turns t JOIN journal j ON j.turn = (SELECT number FROM turns WHERE turn_id = '${turnId}')
      WHERE t.status = '${turnId}' AND t.number <= ${TURNS} AND t.number > ${TURNS - 4 * MANY}`)
  if (sql.onDialectOrElse({ pg: () => true, orElse: () => false })) yield* sql.unsafe("VACUUM ANALYZE")
})

const inDatabase = async (
  file: string,
  url: string | undefined,
  act: Effect.Effect<void, unknown, SqlClient.SqlClient>
): Promise<void> => {
  const runtime = ManagedRuntime.make(
    url === undefined ? SqliteClient.layer({ filename: file }) : PgClient.layer({ url: Redacted.make(url) })
  )
  try {
    await runtime.runPromise(act)
  } finally {
    await runtime.dispose()
  }
}

/** Calls each subject in turn, and every second time in the other order. */
const sample = async (
  { body, calls = CALLS, method = "GET", path }: Call,
  subjects: ReadonlyArray<Subject>
): Promise<ReadonlyArray<Samples>> => {
  const states = subjects.map((subject) => ({ subject, samples: { stretch: [], cpu: [] } as Samples }))
  const warmUp = calls === 1 ? 0 : WARM_UP
  for (let n = 0; n < calls; n++)
    for (const { samples, subject } of n % 2 === 0 ? states : states.toReversed()) {
      await Processes.pause(50)
      await subject.longest()
      const before = subject.cpuMs()
      await subject.ask(method, typeof path === "string" ? path : path(n), body)
      const [longest, cpu] = [await subject.longest(), subject.cpuMs() - before]
      if (n < warmUp) continue
      samples.stretch.push(longest)
      samples.cpu.push(cpu)
    }
  return states.map(({ samples }) => samples)
}

const rowsOf = ({ name }: Call, here: Samples, beside: Samples | undefined): ReadonlyArray<FigureTable.Row> => [
  {
    what: name,
    holdfast: FigureTable.quantile(here.stretch, 0.5),
    beside: beside && FigureTable.quantile(beside.stretch, 0.5),
    bare: undefined,
    unit: "ms",
    aim: { atMost: AIM_MS, of: "figure" }
  },
  {
    what: "  the worst",
    holdfast: Math.max(...here.stretch),
    beside: beside && Math.max(...beside.stretch),
    bare: undefined,
    unit: "ms",
    aim: undefined
  },
  {
    what: "  median of the CPU of the service",
    holdfast: FigureTable.quantile(here.cpu, 0.5),
    beside: beside && FigureTable.quantile(beside.cpu, 0.5),
    bare: undefined,
    unit: "ms",
    aim: undefined
  }
]
