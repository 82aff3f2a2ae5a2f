/**
 * Ten thousand turns that wait: how fast they are parked, what one costs, how soon a new process has them, and how late they
 * wake: those that are the first that their process calls for, and those that are not. Full sync on every commit.
 *
 * Parking one turn is all of it, from the prompt handed in: the prompt accepted with `turn-start` and its message, then the
 * failed attempt with its decision, each on disk before what follows. It is measured in one process, of new conversations and of ones
 * with a long history, which every attempt has to read. Beside it, in the same run: one SQLite row a turn, committed in
 * groups of 500 with the same pragmas, which is the least that a record of a wait can cost.
 *
 * `HOLDFAST_BENCH_TURNS=100000` takes some minutes; its conversations are new unless `HOLDFAST_BENCH_HISTORY` gives their number
 * of messages.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Ids } from "@holdfast/wire"
import { Duration, Effect, Layer } from "effect"
import * as Composition from "../../apps/session-orchestrator/src/Composition.ts"
import { Config } from "../../apps/session-orchestrator/src/config/Config.ts"
import { Conversations } from "../../apps/session-orchestrator/src/conversation/Conversations.ts"
import * as Database from "./parking/Database.ts"
import * as FailingProvider from "./parking/FailingProvider.ts"
import * as Service from "./parking/Service.ts"
import * as Report from "./Report.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_TURNS"] ?? 10_000)
const DUE = Math.min(2_000, TURNS / 2)
/** Messages of history that every conversation has. A hundred thousand times a hundred are five gigabytes. */
const HISTORY = Number(process.env["HOLDFAST_BENCH_HISTORY"] ?? (TURNS > 10_000 ? 0 : 100))
const AT_ONCE = 500
/** From the first crowd to the second: it has been dealt with, and the next is in memory. */
const BETWEEN_MS = 12_000
/** The time that a start is given before the first turn is due. */
const UNTIL_DUE_MS = 8_000 + TURNS / 10

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const provider = await FailingProvider.start()
  const database = join(folder, ".holdfast/holdfast.db")
  try {
    writeFileSync(
      join(folder, "holdfast.config.json"),
      JSON.stringify({
        server: { port: 0 },
        model: `bench/${MODEL}`,
        providers: { bench: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider.port}/v1` } },
        gate: { enabled: false }, // every turn calls, and sleeps for the whole of its wait
        retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" }, budget: "Infinity" }
      })
    )
    const isOld = HISTORY > 0
    const empty = isOld ? await parked(join(folder, "new.db"), 0) : undefined
    const full = await parked(database, HISTORY)

    // In new processes, so that what parking itself left behind does not count.
    say("starting with all of them parked, and with none")
    const waiting = await Service.start(folder, TURNS)
    const after = await waiting.memory()
    await waiting.stop()
    const showAgain = Database.hide(database)
    const idle = await Service.start(folder, 0)
    const before = await idle.memory()
    await idle.stop()
    showAgain()

    say(`waking ${DUE} of them within a second, twice`)
    const dueAt = Date.now() + UNTIL_DUE_MS
    Database.makeDue(database, DUE, dueAt, dueAt + BETWEEN_MS)
    const lagsFrom = (from: number) => provider.expect(Database.dueTimes(database, from))
    const crowds = Promise.all([lagsFrom(dueAt), lagsFrom(dueAt + BETWEEN_MS)])
    const again = await Service.start(folder, TURNS)
    const [lags, warm] = await crowds
    await again.stop()
    const bare = Database.bareInserts(join(folder, "bare.db"), TURNS, AT_ONCE)

    const row = (what: string, holdfast: number, bare: number, unit = ""): Report.Row => ({
      what,
      holdfast,
      bare,
      unit,
      aim: undefined
    })
    const timers = timeoutsMs()
    Report.print(`Parking ${TURNS} turns${isOld ? ` of conversations with ${HISTORY} messages` : ""}`, [
      row("parked a second, in new conversations", (empty ?? full).perSecond, bare.perSecond),
      ...(isOld ? [row(`parked a second, behind ${HISTORY} messages`, full.perSecond, bare.perSecond)] : []),
      row("disk a parked turn", full.bytes, bare.bytes, "B"),
      row("memory a parked turn, held after a collection", (after - before) / TURNS, 400, "B"),
      row("process start to all re-armed", waiting.armedMs, timers, "ms"),
      row("of it, from the process up to all re-armed", waiting.takingUpMs, timers, "ms"),
      row(`wake lag, median of ${DUE} due in a second`, Report.median(lags), 1, "ms"),
      row("wake lag, p99", Report.quantile(lags, 0.99), 1, "ms"),
      row("the same once more in that process, median", Report.median(warm), 1, "ms"),
      row("p99", Report.quantile(warm, 0.99), 1, "ms")
    ])
  } finally {
    provider.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

/** A simulated model that is never there: in process it costs no socket. */
const MODEL = "529x*"

/** Prints the progress of long runs. */
const say = (what: string): void => console.error(`  ... ${what}`)

interface InProcess {
  readonly conversations: Conversations["Service"]
  readonly ids: ReadonlyArray<Ids.ConversationId>
}

/** Parks a turn of each of so many new conversations; gives the speed, and what each took on the disk. */
const parked = async (database: string, history: number) => {
  mkdirSync(join(database, ".."), { recursive: true })
  await inProcess(database, ({ conversations }) => inParallel(TURNS, () => Effect.runPromise(conversations.create({}))))
  if (history > 0) {
    say(`writing a history of ${history} messages for ${TURNS} conversations`)
    Database.addHistory(database, history)
  }
  const sizeBefore = Database.sizeOf(database)
  const seconds = await inProcess(database, park)
  return { perSecond: TURNS / seconds, bytes: (Database.sizeOf(database) - sizeBefore) / TURNS }
}

/** The service's own layers, without HTTP. */
const inProcess = <A>(database: string, act: (service: InProcess) => Promise<A>): Promise<A> => {
  const config = Layer.succeed(Config, {
    file: undefined,
    server: { host: "127.0.0.1", port: 0, hostnames: [], token: undefined },
    log: { level: "info" },
    database: { path: database, url: undefined, retention: Duration.days(30) },
    providers: new Map([["bench", { type: "simulated" as const, name: "bench" }]]),
    gate: { enabled: true },
    tools: [],
    models: {},
    model: { provider: "bench", model: MODEL },
    retry: { schedule: { type: "steps", delays: [Duration.hours(1)], tail: Duration.hours(1) } },
    cluster: { runner: { host: "127.0.0.1", port: 0 }, shards: 1 },
    telemetry: { retryLog: undefined, otlp: undefined, notifications: undefined },
    origins: new Map(),
    notices: []
  })
  return Effect.gen(function* () {
    const conversations = yield* Conversations
    const ids = existsSync(database) ? Database.conversationsIn(database) : []
    return yield* Effect.promise(() => act({ conversations, ids }))
  }).pipe(Effect.provide(Composition.held.pipe(Layer.provide(config))), Effect.runPromise)
}

/** Sends a prompt to every conversation; returns the seconds until all of them waited. */
const park = async ({ conversations, ids }: InProcess): Promise<number> => {
  const start = performance.now()
  const handIn = ids.values()
  const waiting = async () => (await Effect.runPromise(conversations.counts)).retrying
  const told = setInterval(() => void waiting().then((count) => say(`${count} parked`)), 10_000)
  try {
    await inParallel(ids.length, async () => {
      const { value: id } = handIn.next()
      if (id === undefined) return
      await Effect.runPromise(conversations.prompt(id, { prompt: `wait for me ${id}` }))
    })
    while ((await waiting()) < ids.length) await new Promise((resolve) => setTimeout(resolve, 5))
    return (performance.now() - start) / 1_000
  } finally {
    clearInterval(told)
  }
}

const inParallel = async (count: number, act: () => Promise<unknown>): Promise<void> => {
  let left = count
  const worker = async (): Promise<void> => {
    while (left-- > 0) await act()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** As many timers as there are turns, set and cleared. */
const timeoutsMs = (): number => {
  const start = performance.now()
  const timers = Array.from({ length: TURNS }, () => setTimeout(() => {}, 3_600_000))
  const ms = performance.now() - start
  for (const timer of timers) clearTimeout(timer)
  return ms
}
