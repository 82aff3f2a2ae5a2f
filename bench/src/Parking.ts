/**
 * Ten thousand turns that wait: how fast they are parked, what one costs, how soon a new process has them, and how late they
 * wake. Full sync on every commit.
 *
 * Parking one turn is: the prompt accepted, `turn-start` and its message, the failed attempt and the decision, each on disk
 * before the next. Beside it, in the same run: one SQLite row a turn, committed in groups of 500 with the same pragmas, which
 * is the least that a record of a wait can cost.
 */
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { createInterface } from "node:readline"
import { Ids } from "@holdfast/wire"
import { Duration, Effect, Layer } from "effect"
import * as Composition from "../../apps/session-orchestrator/src/Composition.ts"
import { Config } from "../../apps/session-orchestrator/src/config/Config.ts"
import { Conversations } from "../../apps/session-orchestrator/src/conversation/Conversations.ts"
import * as Report from "./Report.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 10_000)
const DUE = Math.min(2_000, TURNS / 2)
/** Messages of history that every conversation has. */
const HISTORY = 100
const AT_ONCE = 500

const MAIN = join(import.meta.dirname, "../../apps/session-orchestrator/src/main.ts")

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const provider = await failingProvider()
  try {
    writeFileSync(
      join(folder, "holdfast.config.json"),
      JSON.stringify({
        server: { port: 0 },
        model: `bench/${MODEL}`,
        providers: { bench: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider.port}/v1` } },
        retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
      })
    )
    const database = join(folder, ".holdfast/holdfast.db")

    await inProcess(database, async ({ conversations }) => {
      await inParallel(TURNS, () => Effect.runPromise(conversations.create({})))
    })
    addHistory(database)
    const sizeBefore = sizeOf(database)
    const parkSeconds = await inProcess(database, park)

    // In a new process, so that what parking itself left behind does not count.
    const full = await serve(folder)
    const after = await full.memory()
    await full.stop()
    const away = hide(database)
    const empty = await serve(folder)
    const before = await empty.memory()
    await empty.stop()
    away()

    makeDue(database)
    const sizeAfter = sizeOf(database)
    const due = provider.expect(dueTimes(database))
    const again = await serve(folder)
    const lags = await due
    await again.stop()
    const bare = bareInserts(join(folder, "bare.db"))

    Report.print(`Parking ${TURNS} turns of conversations with ${HISTORY} messages`, [
      {
        what: "parked a second",
        holdfast: TURNS / parkSeconds,
        bare: bare.perSecond,
        unit: "",
        aim: undefined
      },
      {
        what: "memory a parked turn (resident set)",
        holdfast: (after - before) / TURNS,
        bare: 400,
        unit: "B",
        aim: undefined
      },
      {
        what: "disk a parked turn",
        holdfast: (sizeAfter - sizeBefore) / TURNS,
        bare: bare.bytes,
        unit: "B",
        aim: undefined
      },
      { what: "start to all re-armed", holdfast: again.armedMs, bare: timeoutsMs(), unit: "ms", aim: undefined },
      {
        what: `wake lag, median of ${DUE} due in a second`,
        holdfast: Report.median(lags),
        bare: 1,
        unit: "ms",
        aim: undefined
      },
      { what: "wake lag, p99", holdfast: Report.quantile(lags, 0.99), bare: 1, unit: "ms", aim: undefined }
    ])
  } finally {
    provider.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

/** A simulated model that is never there: in process it costs no socket. */
const MODEL = "529x*"

interface InProcess {
  readonly conversations: Conversations["Service"]
  readonly ids: ReadonlyArray<Ids.ConversationId>
}

/** The service's own layers, without HTTP. */
const inProcess = <A>(database: string, act: (service: InProcess) => Promise<A>): Promise<A> => {
  const config = Layer.succeed(Config, {
    file: undefined,
    server: { host: "127.0.0.1", port: 0, hostnames: [], token: undefined },
    database: { path: database, url: undefined, retention: Duration.days(30) },
    providers: new Map([["bench", { type: "simulated" as const, name: "bench" }]]),
    model: { provider: "bench", model: MODEL },
    retry: { schedule: { type: "steps", delays: [Duration.hours(1)], tail: Duration.hours(1) } },
    cluster: { runner: { host: "127.0.0.1", port: 0 }, shards: 1 },
    telemetry: { retryLog: undefined, otlp: undefined, notifications: undefined },
    origins: new Map(),
    notices: []
  })
  return Effect.gen(function* () {
    const conversations = yield* Conversations
    const ids = existsSync(database) ? conversationsIn(database) : []
    return yield* Effect.promise(() => act({ conversations, ids }))
  }).pipe(Effect.provide(Composition.conversations.pipe(Layer.provide(config))), Effect.runPromise)
}

const conversationsIn = (database: string): ReadonlyArray<Ids.ConversationId> => {
  const sql = new DatabaseSync(database, { readOnly: true })
  const rows = sql.prepare("SELECT conversation_id AS id FROM conversations").all()
  sql.close()
  return rows.map((row) => Ids.ConversationId.make(String(row["id"])))
}

/** Hands in a prompt for every conversation, and says how long it took until all of them waited. */
const park = async ({ conversations, ids }: InProcess): Promise<number> => {
  const start = performance.now()
  let next = 0
  await inParallel(ids.length, () => {
    const id = ids[next++]
    return id === undefined
      ? Promise.resolve()
      : Effect.runPromise(conversations.prompt(id, { prompt: `wait for me ${id}` }))
  })
  for (;;) {
    const { retrying } = await Effect.runPromise(conversations.counts)
    if (retrying >= ids.length) return (performance.now() - start) / 1_000
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const inParallel = async (count: number, act: () => Promise<unknown>): Promise<void> => {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await act()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Answers 529 at once, and notes when it was asked by which prompt. */
const failingProvider = async () => {
  let onRequest = (_prompt: string): void => {}
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      onRequest(body)
      response.writeHead(529, { "content-type": "application/json" })
      response.end('{"error":{"type":"overloaded_error","message":"Overloaded"}}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    port: typeof address === "object" ? (address?.port ?? 0) : 0,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
    /** How late each of these turns' requests comes, in milliseconds; turns are told apart by their prompts. */
    expect: (dueAt: ReadonlyMap<string, number>) =>
      new Promise<Array<number>>((resolve) => {
        const lags: Array<number> = []
        onRequest = (body) => {
          const prompt = /wait for me (\S+?)"/.exec(body)?.[1] ?? ""
          const due = dueAt.get(prompt)
          if (due !== undefined) lags.push(Math.max(0, Date.now() - due))
          if (lags.length === dueAt.size) resolve(lags)
        }
      })
  }
}

/** A service of its own process, driven over HTTP. */
const serve = async (folder: string) => {
  const begun = performance.now()
  const child = spawn(
    process.execPath,
    [
      ...(process.env["HOLDFAST_BENCH_PROFILE"] === undefined
        ? []
        : ["--cpu-prof", `--cpu-prof-dir=${process.env["HOLDFAST_BENCH_PROFILE"]}`]),
      MAIN,
      "serve"
    ],
    {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"]
    }
  )
  let port = 0
  let armedMs = NaN
  const listening = new Promise<void>((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      const found = /127\.0\.0\.1:(\d+)$/.exec(line)?.[1]
      if (found !== undefined && port === 0) {
        port = Number(found)
        resolve()
      }
    })
  })
  createInterface(child.stderr).on("line", (line) => {
    if (line.includes("Took up")) armedMs = performance.now() - begun
  })
  await listening
  const url = `http://127.0.0.1:${port}`
  const post = async (path: string, body: object): Promise<string> =>
    (
      await fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    ).text()
  return {
    post,
    get armedMs() {
      return armedMs
    },
    memory: async (): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      return residentSetOf(child.pid ?? 0)
    },
    stop: () =>
      new Promise<void>((resolve) => {
        child.on("exit", () => resolve())
        child.kill("SIGTERM")
      })
  }
}

const residentSetOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? NaN) * 1_024

const sizeOf = (database: string): number => statSync(database).size

/** Gives every conversation a turn of the past with its messages. */
const addHistory = (database: string): void => {
  const sql = new DatabaseSync(database)
  sql.exec(`
    BEGIN;
    INSERT INTO turns (turn_id, conversation_id, prompt, accepted_at, end_event_id)
      SELECT 'past-' || rowid, conversation_id, 'past', 0, ${HISTORY} FROM conversations;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${HISTORY})
    INSERT INTO events (conversation_id, event_id, turn_id, position, type, payload)
      SELECT t.conversation_id, n.i, t.turn_id, n.i - 1, CASE WHEN n.i = ${HISTORY} THEN 'turn-end' ELSE 'message' END,
        CASE WHEN n.i = ${HISTORY}
          THEN json_object('type', 'turn-end', 'conversationId', t.conversation_id, 'turnId', t.turn_id, 'status', 'completed',
            'endedAt', 0, 'steps', 1, 'attempts', 1, 'sleptMs', 0, 'usage', json('{}'))
          ELSE json_object('type', 'message', 'conversationId', t.conversation_id, 'turnId', t.turn_id, 'message',
            json_object('role', 'user', 'id', t.turn_id || '.' || n.i, 'turnId', t.turn_id, 'createdAt', 0, 'content',
              json_array(json_object('type', 'text', 'text', 'A message of some sixty characters, as people write them.'))))
        END
      FROM turns t, n WHERE t.prompt = 'past';
    INSERT INTO messages (message_id, conversation_id, event_id, role)
      SELECT turn_id || '.' || event_id, conversation_id, event_id, 'user' FROM events WHERE type = 'message';
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE)`)
  sql.close()
}

/** Lets some of the waits end within one second, a while from now. */
const makeDue = (database: string): void => {
  const sql = new DatabaseSync(database)
  const from = Date.now() + 8_000
  const update = sql.prepare(
    "UPDATE journal SET value = json_set(value, '$.retryAt', ?) WHERE turn_id = ? AND name LIKE '%/decision/%'"
  )
  sql.exec("BEGIN")
  sql
    .prepare("SELECT turn_id FROM turns WHERE end_event_id IS NULL LIMIT ?")
    .all(DUE)
    .forEach((row, i) => update.run(from + Math.floor((i / DUE) * 1_000), row["turn_id"] ?? ""))
  sql.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  sql.close()
}

/** Takes the unfinished turns out of sight; the result brings them back. */
const hide = (database: string): (() => void) => {
  const change = (statement: string) => {
    const sql = new DatabaseSync(database)
    sql.exec(`${statement}; PRAGMA wal_checkpoint(TRUNCATE)`)
    sql.close()
  }
  change("UPDATE turns SET end_event_id = -1 WHERE end_event_id IS NULL")
  return () => change("UPDATE turns SET end_event_id = NULL WHERE end_event_id = -1")
}

const dueTimes = (database: string): ReadonlyMap<string, number> => {
  const sql = new DatabaseSync(database, { readOnly: true })
  const rows = sql
    .prepare(
      `SELECT t.conversation_id AS id, json_extract(j.value, '$.retryAt') AS due FROM turns t JOIN journal j ON j.turn_id = t.turn_id
       WHERE j.name LIKE '%/decision/%' AND due < ?`
    )
    .all(Date.now() + 60_000)
  sql.close()
  return new Map(rows.map((row) => [String(row["id"]), Number(row["due"])]))
}

/** One row a turn, in groups, with the pragmas of the service. */
const bareInserts = (file: string): { readonly perSecond: number; readonly bytes: number } => {
  const sql = new DatabaseSync(file)
  sql.exec(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE park (turn_id TEXT PRIMARY KEY, wake_at INTEGER, value TEXT)"
  )
  const insert = sql.prepare("INSERT INTO park VALUES (?, ?, ?)")
  const value = JSON.stringify({ _tag: "Retry", attempt: 0, delayMs: 3_600_000, retryAt: Date.now() })
  const start = performance.now()
  for (let i = 0; i < TURNS; i += AT_ONCE) {
    sql.exec("BEGIN")
    for (let j = i; j < Math.min(TURNS, i + AT_ONCE); j++) insert.run(crypto.randomUUID(), Date.now(), value)
    sql.exec("COMMIT")
  }
  const perSecond = TURNS / ((performance.now() - start) / 1_000)
  sql.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  sql.close()
  return { perSecond, bytes: statSync(file).size / TURNS }
}

/** As many timers as there are turns, set and cleared. */
const timeoutsMs = (): number => {
  const start = performance.now()
  const timers = Array.from({ length: TURNS }, () => setTimeout(() => {}, 3_600_000))
  const ms = performance.now() - start
  for (const timer of timers) clearTimeout(timer)
  return ms
}
