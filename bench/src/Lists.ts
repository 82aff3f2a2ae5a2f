/**
 * Pages of lists, bulk commands and the report in a database of 100,000 turns, on both databases: p50 and p99 over HTTP, one call after
 * the other.
 *
 * The bare limit is what finds the page's rows in the database, alone, on a connection of its own. A call that reads page by page goes on
 * with the cursor of the page before, and its bare limit from the same position.
 *
 * A command that ends waits or retries turns makes attempts behind its answer. The rows measure a command on a service that is at rest: the
 * attempts of the command before have ended. The rows `one after the other` send each command as soon as the one before is answered, as
 * `holdfast` sends the pages of a filter.
 */
import { PgClient } from "@effect/sql-pg"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Count } from "@holdfast/wire"
import { BulkCommands } from "@holdfast/wire/api"
import type { Effect } from "effect"
import { ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { Agent, request } from "undici"
import type { Position } from "../../apps/session-orchestrator/src/storage/ListPage.ts"
import * as ConversationListTable from "../../apps/session-orchestrator/src/storage/tables/ConversationListTable.ts"
import * as TurnListTable from "../../apps/session-orchestrator/src/storage/tables/TurnListTable.ts"
import * as FigureTable from "./FigureTable.ts"
import * as Night from "./lists/Night.ts"
import * as Postgres from "./Postgres.ts"
import * as Processes from "./Processes.ts"
import * as Trees from "./Trees.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 100_000)
const CALLS = Number(process.env["HOLDFAST_BENCH_CALLS"] ?? 200)
/** The first calls compile what they run, and what brings conversations into memory. */
const WARM_UP = 10
/** Of each bulk command; their turns have to be made. */
const COMMANDS = CALLS + WARM_UP
/** Turns of a bulk command without a limit. */
const TEN = BulkCommands.DEFAULT_LIMIT
/** Turns that all pages of a command have together, and turns of the report. */
const MANY = 5_000
/** Prompts that are sent at once. */
const SENDERS = 16
/** Runners keep a conversation in memory for some seconds; those of a night have left it. */
const LEAVING_MS = 12_000
/** A service uses next to no CPU in this time when the attempts behind its last answer have ended. */
const REST_MS = 25
const REST_CPU_MS = 1
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
      for (const database of DATABASES) await measure(place, database, failing.port, postgres)
    } finally {
      await postgres.stop()
    }
  })

// --- internal

type Database = (typeof DATABASES)[number]

interface Call {
  readonly name: string
  readonly path: string
  readonly body?: object
  /** Each call is for the page behind the one before. */
  readonly isWalk?: boolean
  /** Begins behind so many pages of this list. */
  readonly behind?: { readonly path: string; readonly pages: number }
  /** The tag of turns that wait for it. */
  readonly waits?: string
  /** The attempts behind an answer end before the next call. */
  readonly rests?: boolean
  /** Turns that are in memory leave it before the first call. */
  readonly leaves?: boolean
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

/** A service with a database of its own. */
interface Subject {
  readonly ask: Ask
  readonly cpuMs: () => number
  readonly bareMs: (bare: NonNullable<Call["bare"]>, after: Position | undefined) => Promise<number>
  readonly close: () => Promise<void>
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
  database: Database,
  provider: number,
  postgres: Postgres.Server
): Promise<void> => {
  const subjects: Array<Subject> = []
  try {
    for (const tree of [Trees.here, ...(Trees.beside === undefined ? [] : [Trees.beside])]) {
      const url = database === "SQLite" ? undefined : await postgres.database(`lists_${tree.name}`)
      subjects.push(await subjectOf(place, database, tree, provider, url))
    }
    const measured = calls.filter(({ name }) => name.includes(ONLY))
    const tags = new Set(measured.flatMap(({ waits }) => waits ?? []))
    if (measured.some(({ name }) => name.includes("waiting, each page"))) TAGS.forEach((tag) => tags.add(tag))
    for (const { ask } of subjects) await wait(ask, tags)
    await Processes.pause(LEAVING_MS)
    const rows: Array<FigureTable.Row> = []
    for (const call of measured) {
      if (call.leaves === true) await Processes.pause(LEAVING_MS)
      const [here, beside] = await sample(call, subjects)
      if (here !== undefined) rows.push(...rowsOf(call, here, beside))
    }
    FigureTable.print(`Lists and bulk commands of ${Count.of(TURNS, "turn")} on ${database}, over HTTP`, rows)
  } finally {
    for (const { close } of subjects) await close()
  }
}

/** A service with the turns of a night. */
const subjectOf = async (
  { children, folder: root }: Processes.Place,
  database: Database,
  tree: Trees.Tree,
  provider: number,
  url: string | undefined
): Promise<Subject> => {
  const folder = join(root, `lists-${database}-${tree.name}`)
  mkdirSync(folder)
  const file = join(folder, "lists.db")
  const start = async () => {
    const service = await Processes.serve(children, folder, {
      name: "lists",
      tree,
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
  await runtime.runPromise(Night.write(TURNS))
  const service = await start()
  const agent = new Agent({ connections: SENDERS })
  return {
    ask: async (path, body) => {
      const response = await request(`http://127.0.0.1:${service.port}${path}`, {
        dispatcher: agent,
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body)
      })
      const text = await response.body.text()
      if (response.statusCode >= 300) throw new Error(`${path}: ${response.statusCode} ${text}`)
      return JSON.parse(text)
    },
    cpuMs: () => Processes.cpuMs(service),
    bareMs: (bare, after) => timed(async () => void (await runtime.runPromise(bare(sql, after)))),
    close: async () => {
      await agent.destroy()
      await runtime.dispose()
      await Processes.stop(service, "SIGKILL")
    }
  }
}

type Ask = (path: string, body?: object) => Promise<Answer>

/** Makes the turns that wait with these tags. */
const wait = async (ask: Ask, tags: ReadonlySet<string>): Promise<void> => {
  const prompts = [...tags].flatMap((tag) =>
    Array.from({ length: COMMANDS * TEN }, (_, n) => ({
      prompt: `wait for me ${n}`,
      turnId: `${tag}-${n}`,
      tags: [tag]
    }))
  )
  const count = prompts.length
  const send = async (): Promise<void> => {
    for (let next = prompts.pop(); next !== undefined; next = prompts.pop()) await ask("/v1/turns", next)
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
  while ((await countOf(ask, "waiting")) < count) await Processes.pause(100)
}

/** A command for each next ten turns that wait with a tag; without one, for turns that failed. */
const bulk = (name: string, command: object, waits?: string): Call => ({
  name,
  path: "/v1/turns/commands",
  body: { command, filter: waits === undefined ? { status: "failed" } : { status: "waiting", tag: waits } },
  isWalk: true,
  rests: true,
  calls: COMMANDS,
  ...(waits === undefined ? {} : { waits })
})

/** The same without a rest between two commands. */
const quick = (name: string, command: object, waits: string): Call => ({
  ...bulk(`${name}, one after the other`, command, waits),
  rests: false
})

/** A command for thousands of turns, page by page. */
const thousands = (name: string, command: object, status: string): Call => ({
  name: `${name} of ${Count.of(MANY, "turn")} ${status}, each page of ${TEN}`,
  path: "/v1/turns/commands",
  body: { command, filter: { status } },
  isWalk: true,
  leaves: true,
  calls: MANY / TEN
})

const of = (name: string, path: string, bare: NonNullable<Call["bare"]>): Call => ({ name, path, bare, isWalk: true })

const since = Night.acceptedAt(Math.floor(TURNS / 2), TURNS)
const words = { "a rare word": Night.RARE, "a common word": Night.COMMON, "a key of JSON": "createdAt" }
const middle = { path: "/v1/turns?limit=200", pages: Math.floor(TURNS / 400) }
const SWITCH = { type: "switch-target", model: "failing/other" }
const NOW = { type: "retry-now" }

/** Turns wait with these for the commands below. */
const TAGS = ["extend", "switch", "switch-quick", "now", "now-quick", "abort", "end"]

const calls: ReadonlyArray<Call> = [
  { name: "turns", path: "/v1/turns", bare: turns({}) },
  of("turns, each next page", "/v1/turns", turns({})),
  { name: "turns, from the middle", path: "/v1/turns", behind: middle, bare: turns({}) },
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
    name: `report of ${Count.of(MANY, "turn")}`,
    path: `/v1/report?since=${Night.acceptedAt(TURNS - MANY, TURNS)}&until=${Night.acceptedAt(TURNS, TURNS) + 60_000}`,
    calls: WARM_UP + 20
  },
  {
    name: "retry of failed turns, dry",
    path: "/v1/turns/commands",
    body: { command: { type: "retry" }, filter: { status: "failed" }, dryRun: true },
    isWalk: true,
    bare: turns({ status: "failed" })
  },
  bulk("longer budget of 10 waiting turns", { type: "extend-budget", byMs: 1_000 }, "extend"),
  bulk("switch of 10 waiting turns", SWITCH, "switch"),
  quick("switch of 10 waiting turns", SWITCH, "switch-quick"),
  bulk("retry now of 10 waiting turns", NOW, "now"),
  quick("retry now of 10 waiting turns", NOW, "now-quick"),
  bulk("retry of 10 failed turns", { type: "retry" }),
  thousands("longer budget", { type: "extend-budget", byMs: 1_000 }, "waiting"),
  thousands("switch", { ...SWITCH, model: "failing/third" }, "waiting"),
  thousands("retry now", NOW, "waiting"),
  {
    ...thousands("retry", { type: "retry" }, "failed"),
    behind: { path: `/v1/turns?status=failed&limit=${TEN}`, pages: COMMANDS }
  },
  { ...bulk("abort of 10 waiting turns", { type: "abort" }, "abort"), leaves: true },
  bulk("give up of 10 waiting turns", { type: "abort-retry" }, "end")
]

/** Calls each subject in turn, and every second time in the other order. */
const sample = async (
  { bare, behind, body, calls = CALLS, isWalk = false, path, rests = false }: Call,
  subjects: ReadonlyArray<Subject>
): Promise<ReadonlyArray<Samples>> => {
  const states = await Promise.all(
    subjects.map(async (subject) => ({
      subject,
      samples: { http: [], bare: [], cpu: [] } as Samples,
      cursor: behind && (await walk(subject.ask, behind.path, behind.pages)),
      isOver: false
    }))
  )
  const warmUp = Math.min(WARM_UP, Math.floor(calls / 5))
  for (let n = 0; n < calls; n++) {
    for (const state of n % 2 === 0 ? states : states.toReversed()) {
      const { cursor, samples, subject } = state
      if (state.isOver) continue
      let answer: Answer = {}
      const [to, content] =
        cursor === undefined
          ? [path, body]
          : body === undefined
            ? [`${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`, undefined]
            : [path, { ...body, cursor }]
      const bareMs = bare && (await subject.bareMs(bare, positionIn(cursor)))
      if (rests) await rest(subject)
      const cpuBefore = subject.cpuMs()
      const ms = await timed(async () => {
        answer = await subject.ask(to, content)
      })
      if (n >= warmUp) {
        samples.cpu.push(subject.cpuMs() - cpuBefore)
        samples.http.push(ms)
        if (bareMs !== undefined) samples.bare.push(bareMs)
      }
      if (!isWalk) continue
      state.cursor = answer.next
      // A list begins again. A command has been carried out.
      state.isOver = body !== undefined && answer.next === undefined
    }
  }
  return states.map(({ samples }) => samples)
}

/** Waits until a service has nothing to do. */
const rest = async ({ cpuMs }: Subject): Promise<void> => {
  for (let before = cpuMs(); ;) {
    await Processes.pause(REST_MS)
    const now = cpuMs()
    if (now - before < REST_CPU_MS) return
    before = now
  }
}

const rowsOf = ({ name }: Call, here: Samples, beside: Samples | undefined): ReadonlyArray<FigureTable.Row> => [
  ...([0.5, 0.99] as const).map((q) => ({
    what: q === 0.5 ? name : "  p99",
    holdfast: FigureTable.quantile(here.http, q),
    beside: beside && FigureTable.quantile(beside.http, q),
    bare: here.bare.length === 0 ? undefined : FigureTable.quantile(here.bare, q),
    unit: "ms",
    aim: q === 0.5 ? undefined : ({ atMost: AIM_MS, of: "figure" } as const)
  })),
  ...([0.5, 0.99] as const).map((q) => ({
    what: `  ${q === 0.5 ? "median" : "p99"} of the CPU of the service`,
    holdfast: FigureTable.quantile(here.cpu, q),
    beside: beside && FigureTable.quantile(beside.cpu, q),
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

const countOf = async (ask: Ask, status: string): Promise<number> => {
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

/** The position that a cursor holds. */
const positionIn = (cursor: string | undefined): Position | undefined => {
  if (cursor === undefined) return undefined
  const [, , at, number] = JSON.parse(Buffer.from(cursor, "base64url").toString())
  return { at, number }
}
