/**
 * Pages of lists and bulk commands in a database of 100,000 turns, on both databases: p50 and p99 over HTTP, one call after the other.
 *
 * The bare limit is what finds the page's rows in the database, alone, on a connection of its own. A call that reads page by page goes on
 * with the cursor of the page before, and its bare limit from the same position.
 */
import { PgClient } from "@effect/sql-pg"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Count } from "@holdfast/wire"
import type { Effect } from "effect"
import { ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { Agent, request } from "undici"
import type { Position } from "../../apps/session-orchestrator/src/storage/Lists.ts"
import * as ConversationListTable from "../../apps/session-orchestrator/src/storage/tables/ConversationListTable.ts"
import * as TurnListTable from "../../apps/session-orchestrator/src/storage/tables/TurnListTable.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Night from "./lists/Night.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 100_000)
const CALLS = Number(process.env["HOLDFAST_BENCH_CALLS"] ?? 200)
/** Turns that wait for each bulk command. */
const WAITING = 250
/** Runners keep a conversation in memory for some seconds; those of a night have left it. */
const LEAVING_MS = 12_000
/** The first calls compile what they run. */
const WARM_UP = 10
/** Measures only the rows whose names have this, and one database: for a look at one change. */
const ONLY = process.env["HOLDFAST_BENCH_ROWS"] ?? ""
const DATABASES = (["SQLite", "PostgreSQL"] as const).filter(
  (database) => database === (process.env["HOLDFAST_BENCH_DATABASE"] ?? database)
)

/** Of p99, over HTTP. */
const AIM_MS = 50

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const failing = await Processes.server(place, "parking/FailingServer.ts")
    const postgres = await Postgres.start()
    try {
      for (const database of DATABASES) {
        const url = database === "SQLite" ? undefined : await postgres.database("lists")
        await measure(place, database, failing.port, url)
      }
    } finally {
      await postgres.stop()
    }
  })

// --- internal

interface Call {
  readonly name: string
  readonly path: string
  readonly body?: object
  /** Each call is for the page behind the one before. */
  readonly isWalk?: boolean
  /** The tag of turns that wait for it. */
  readonly waits?: string
  readonly calls?: number
  readonly bare?: (sql: SqlClient.SqlClient, after: Position | undefined) => Effect.Effect<unknown, unknown>
}

interface Answer {
  readonly next?: string
}

interface Samples {
  readonly http: Array<number>
  readonly bare: Array<number>
  /** Of the service, all of its threads together: what a call takes however busy the machine is. */
  readonly cpu: Array<number>
}

const turns =
  (filter: Parameters<typeof TurnListTable.keys>[1], limit = 50): NonNullable<Call["bare"]> =>
  (sql, after) =>
    TurnListTable.keys(sql, filter, after, limit)

const conversations =
  (filter: Parameters<typeof ConversationListTable.keys>[1]): NonNullable<Call["bare"]> =>
  (sql, after) =>
    ConversationListTable.keys(sql, filter, after, 50)

const measure = async (
  place: Processes.Place,
  database: "SQLite" | "PostgreSQL",
  provider: number,
  url: string | undefined
): Promise<void> => {
  const file = join(place.folder, "lists.db")
  const start = async () => {
    const service = await Processes.serve(place.children, place.folder, {
      name: `lists-${database}`,
      config: {
        database: { path: file },
        model: "failing/m",
        providers: { failing: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider}/v1` } },
        telemetry: { retryLog: false },
        gate: { enabled: false },
        retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
      },
      ...(url === undefined
        ? {}
        : { env: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${await Postgres.freePort()}` } })
    })
    while (!(await fetch(`http://127.0.0.1:${service.port}/readyz`)).ok) await Processes.pause(50)
    return service
  }
  // The first start makes the tables.
  await Processes.stop(await start())
  const runtime = ManagedRuntime.make(
    url === undefined ? SqliteClient.layer({ filename: file }) : PgClient.layer({ url: Redacted.make(url) })
  )
  const sql = await runtime.runPromise(SqlClient.SqlClient)
  const agent = new Agent({ connections: 1 })
  try {
    await runtime.runPromise(Night.write(TURNS))
    const service = await start()
    const ask = async (path: string, body?: object): Promise<Answer> => {
      const response = await request(`http://127.0.0.1:${service.port}${path}`, {
        dispatcher: agent,
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body)
      })
      const text = await response.body.text()
      if (response.statusCode >= 300) throw new Error(`${path}: ${response.statusCode} ${text}`)
      return JSON.parse(text)
    }
    const measured = calls("").filter(({ name }) => name.includes(ONLY))
    const waiting = measured.flatMap(({ waits }) => waits ?? [])
    for (const tag of waiting) {
      for (let n = 0; n < WAITING; n++)
        await ask("/v1/turns", { prompt: `wait for me ${n}`, turnId: `${tag}-${n}`, tags: [tag] })
    }
    while ((await count(ask, "waiting")) < waiting.length * WAITING) await Processes.pause(100)
    await Processes.pause(LEAVING_MS)
    const deep = await walk(ask, "/v1/turns?limit=200", Math.floor(TURNS / 400))
    const rows: Array<FigureTable.Row> = []
    const alone = async (found: Effect.Effect<unknown, unknown>) => void (await runtime.runPromise(found))
    for (const call of calls(deep).filter(({ name }) => name.includes(ONLY))) {
      const bare = call.bare
      const samples = await sample(
        call,
        ask,
        () => Processes.cpuMs(service),
        bare && ((after) => timed(() => alone(bare(sql, after))))
      )
      rows.push(...rowsOf(call, samples))
    }
    FigureTable.print(`Lists and bulk commands of ${Count.of(TURNS, "turn")} on ${database}, over HTTP`, rows)
  } finally {
    await agent.destroy()
    await runtime.dispose()
  }
}

type Ask = (path: string, body?: object) => Promise<Answer>

const calls = (deep: string): ReadonlyArray<Call> => {
  const since = Night.acceptedAt(Math.floor(TURNS / 2), TURNS)
  const of = (name: string, path: string, bare: NonNullable<Call["bare"]>): Call => ({ name, path, bare, isWalk: true })
  const words = { "a rare word": Night.RARE, "a common word": Night.COMMON, "a key of JSON": "createdAt" }
  return [
    { name: "turns", path: "/v1/turns", bare: turns({}) },
    of("turns, each next page", "/v1/turns", turns({})),
    { name: "turns, from the middle", path: `/v1/turns?cursor=${deep}`, bare: turns({}) },
    of("turns failed since", `/v1/turns?status=failed&since=${since}`, turns({ status: "failed", since })),
    of("turns waiting", "/v1/turns?status=waiting", turns({ status: "open" }, 200)),
    of("turns by tag", "/v1/turns?tag=nightly", turns({ tag: "nightly" })),
    of("turns by a rare tag, failed", "/v1/turns?tag=odd&status=failed", turns({ tag: "odd", status: "failed" })),
    of("turns by model", "/v1/turns?model=openai", turns({ model: "openai" }, 200)),
    of("turns by a rare model", "/v1/turns?model=rare/model", turns({ model: "rare/model" }, 200)),
    ...Object.entries(words).map(([name, search]) =>
      of(`turns with ${name}`, `/v1/turns?search=${search}`, turns({ search }))
    ),
    of("conversations", "/v1/conversations", conversations({})),
    ...Object.entries({ "a rare word": Night.RARE, "a common letter": "a" }).map(([name, search]) =>
      of(`conversations with ${name}`, `/v1/conversations?search=${search}`, conversations({ search }))
    ),
    { name: "one turn", path: `/v1/turns/turn-${Math.floor(TURNS / 3)}` },
    { name: "one turn of a conversation of thousands", path: `/v1/turns/turn-${Math.floor(TURNS / 40) * 20}` },
    {
      name: "retry of failed turns, dry",
      path: "/v1/turns/commands",
      body: { command: { type: "retry" }, filter: { status: "failed" }, dryRun: true },
      isWalk: true,
      bare: turns({ status: "failed" })
    },
    bulk("longer budget of 10 waiting turns", { type: "extend-budget", byMs: 1_000 }, "extend"),
    bulk("switch of 10 waiting turns", { type: "switch-target", model: "failing/other" }, "switch"),
    bulk("retry now of 10 waiting turns", { type: "retry-now" }, "now"),
    bulk("abort of 10 waiting turns", { type: "abort" }, "abort"),
    bulk("give up of 10 waiting turns", { type: "abort-retry" }, "end"),
    { ...bulk("retry of 10 failed turns", { type: "retry" }), calls: CALLS }
  ]
}

/** A command for each next ten turns that wait with a tag; without one, for turns that failed. */
const bulk = (name: string, command: object, waits?: string): Call => ({
  name,
  path: "/v1/turns/commands",
  body: { command, filter: waits === undefined ? { status: "failed" } : { status: "waiting", tag: waits }, limit: 10 },
  isWalk: true,
  calls: WAITING / 10,
  ...(waits === undefined ? {} : { waits })
})

const sample = async (
  { body, calls = CALLS, isWalk = false, path }: Call,
  ask: Ask,
  cpuMs: () => number,
  bare: ((after: Position | undefined) => Promise<number>) | undefined
): Promise<Samples> => {
  const samples: Samples = { http: [], bare: [], cpu: [] }
  const warmUp = Math.min(WARM_UP, Math.floor(calls / 5))
  let cursor: string | undefined
  for (let n = 0; n < calls; n++) {
    let answer: Answer = {}
    const [to, content] =
      cursor === undefined
        ? [path, body]
        : body === undefined
          ? [`${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`, undefined]
          : [path, { ...body, cursor }]
    const bareMs = await bare?.(positionIn(cursor ?? cursorOf(path)))
    const cpuBefore = cpuMs()
    const ms = await timed(async () => {
      answer = await ask(to, content)
    })
    if (n >= warmUp) {
      samples.cpu.push(cpuMs() - cpuBefore)
      samples.http.push(ms)
      if (bareMs !== undefined) samples.bare.push(bareMs)
    }
    cursor = isWalk ? answer.next : undefined
  }
  return samples
}

const rowsOf = ({ name }: Call, { bare, cpu, http }: Samples): ReadonlyArray<FigureTable.Row> => [
  ...([0.5, 0.99] as const).map((q) => ({
    what: q === 0.5 ? name : "  p99",
    holdfast: FigureTable.quantile(http, q),
    bare: bare.length === 0 ? undefined : FigureTable.quantile(bare, q),
    unit: "ms",
    aim: q === 0.5 ? undefined : ({ atMost: AIM_MS, of: "figure" } as const)
  })),
  ...([0.5, 0.99] as const).map((q) => ({
    what: `  ${q === 0.5 ? "median" : "p99"} of the CPU of the service`,
    holdfast: FigureTable.quantile(cpu, q),
    bare: undefined,
    unit: "ms",
    aim: undefined
  }))
]

const timed = async (act: () => Promise<void>): Promise<number> => {
  const from = performance.now()
  await act()
  return performance.now() - from
}

const count = async (ask: Ask, status: string): Promise<number> => {
  let sum = 0
  let cursor: string | undefined
  do {
    const page: Answer & { readonly turns?: ReadonlyArray<unknown> } = await ask(
      `/v1/turns?limit=200&status=${status}${cursor === undefined ? "" : `&cursor=${cursor}`}`
    )
    sum += page.turns?.length ?? 0
    cursor = page.next
  } while (cursor !== undefined)
  return sum
}

/** The cursor behind so many pages. */
const walk = async (ask: Ask, path: string, pages: number): Promise<string> => {
  let cursor: string | undefined
  for (let n = 0; n < pages; n++) cursor = (await ask(cursor === undefined ? path : `${path}&cursor=${cursor}`)).next
  return cursor ?? ""
}

const cursorOf = (path: string): string | undefined => /[?&]cursor=([^&]+)/.exec(path)?.[1]

/** The position that a cursor holds. */
const positionIn = (cursor: string | undefined): Position | undefined => {
  if (cursor === undefined) return undefined
  const [, , at, number] = JSON.parse(Buffer.from(cursor, "base64url").toString())
  return { at, number }
}
