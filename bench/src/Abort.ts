/**
 * How long an abort takes: from the request to the seal on disk, and to the moment at which the provider sees its socket free,
 * whichever is later. From each state that a turn can be in, on both databases.
 *
 * Service, provider and PostgreSQL run on one machine; the turns of a state are aborted one after the other, while all others of that
 * state are still in it. The bare limit is another call that writes one row, on the same service (`PUT .../auto-retry`).
 */
import type { ChildProcess } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Behaviour, type Endpoint, start as startEndpoint } from "./abort/Endpoint.ts"
import * as Postgres from "./Postgres.ts"
import { pause, post, serve } from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"

const TURNS = Number(process.env["HOLDFAST_BENCH_ABORTS"] ?? 100)

/** Of the 99th of 100 turns. */
const AIM_MS = 50

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const children: Array<ChildProcess> = []
  const endpoint = await startEndpoint()
  const postgres = await Postgres.start()
  try {
    for (const database of ["SQLite", "PostgreSQL"] as const) {
      const rows: Array<Measured> = []
      for (const state of STATES) rows.push(await measure({ folder, children, endpoint, postgres }, database, state))
      print(database, rows)
    }
  } finally {
    for (const child of children) child.kill("SIGKILL")
    endpoint.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

interface TurnState {
  readonly name: string
  readonly behaviour: Behaviour
  readonly config?: object
  /** Its request is open, so an abort has a socket to free. */
  readonly hasSocket: boolean
  /** Waits until turns that have called are where they are wanted. */
  readonly arrive?: (crowd: Crowd) => Promise<void>
}

interface Crowd {
  readonly port: number
  readonly turns: ReadonlyArray<Turn>
  readonly endpoint: Endpoint
}

interface Turn {
  readonly prompt: string
  readonly conversationId: string
}

const steps = (...delays: ReadonlyArray<string>) => ({
  gate: { enabled: false },
  retry: { schedule: { type: "steps", delays, tail: delays.at(-1) } }
})

const stateOf = async (port: number, { conversationId }: Turn) => {
  const response = await fetch(`http://127.0.0.1:${port}/v1/conversations/${conversationId}`)
  return (await response.json()) as { readonly status: string; readonly retryAt?: number } // what the API promises
}

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  while (!(await condition())) await pause(20)
}

/** Every turn is in the wait before its retry. */
const waiting = ({ port, turns }: Crowd): Promise<void> =>
  until(async () => {
    const states = await Promise.all(turns.map((turn) => stateOf(port, turn)))
    return states.every(({ status }) => status === "retrying")
  })

const STATES: ReadonlyArray<TurnState> = [
  { name: "calling", behaviour: "says nothing", hasSocket: true },
  { name: "streaming", behaviour: "streams", hasSocket: true },
  {
    name: "waiting in memory",
    behaviour: "is overloaded",
    config: steps("5 seconds"),
    hasSocket: false,
    arrive: waiting
  },
  { name: "parked", behaviour: "is overloaded", config: steps("1 hour"), hasSocket: false, arrive: waiting },
  {
    name: "in a tool",
    behaviour: "asks for a tool",
    config: {
      tools: { slow: { command: process.execPath, args: [join(import.meta.dirname, "abort/SlowTools.ts")] } }
    },
    hasSocket: false,
    arrive: async ({ port, turns }) => {
      const records = async (turn: Turn) => {
        const response = await fetch(
          `http://127.0.0.1:${port}/v1/conversations/${turn.conversationId}/turns/${turn.prompt}/explain`
        )
        return JSON.stringify(await response.json())
      }
      await until(async () => (await Promise.all(turns.map(records))).every((text) => text.includes("under-way")))
    }
  },
  {
    name: "held by the gate",
    behaviour: "is overloaded",
    config: { retry: { schedule: { type: "steps", delays: ["10 seconds"], tail: "10 seconds" } } },
    hasSocket: false,
    arrive: async (crowd) => {
      const { endpoint, port, turns } = crowd
      await waiting(crowd)
      endpoint.behaviour = "says nothing"
      // All are due, one is let through as a probe that is not answered, and the others are held.
      const states = await Promise.all(turns.map((turn) => stateOf(port, turn)))
      const due = Math.max(...states.map(({ retryAt = 0 }) => retryAt))
      await pause(Math.max(0, due - Date.now()) + 500)
    }
  }
]

interface Measured {
  readonly state: string
  readonly times: ReadonlyArray<number>
  readonly bare: ReadonlyArray<number>
}

interface Resources {
  readonly folder: string
  readonly children: Array<ChildProcess>
  readonly endpoint: Endpoint
  readonly postgres: Postgres.Server
}

let started = 0

const measure = async (
  { children, endpoint, folder, postgres }: Resources,
  database: "SQLite" | "PostgreSQL",
  state: TurnState
): Promise<Measured> => {
  const name = `abort${++started}`
  const providers = { slow: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${endpoint.port}/v1` } }
  const url = database === "SQLite" ? undefined : await postgres.database(name)
  const { child, port } = await serve(children, folder, {
    name,
    config: { database: { path: join(folder, `${name}.db`) }, model: "slow/m", providers, ...state.config },
    ...(url === undefined
      ? undefined
      : { env: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${await Postgres.freePort()}` } })
  })
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
  if (url !== undefined) await pause(2_000) // it gets its shards
  endpoint.behaviour = state.behaviour
  const turns = await Promise.all(
    Array.from({ length: TURNS }, (_, n) => begin(port, `turn-${started}${String(n).padStart(4, "0")}`))
  )
  // Of a crowd that fails, some share the failure of others, and make no call.
  const exchanges = state.hasSocket ? await Promise.all(turns.map(({ prompt }) => endpoint.exchange(prompt))) : []
  await Promise.all(exchanges.map(({ reached }) => reached))
  await state.arrive?.({ port, turns, endpoint })
  const bare: Array<number> = []
  const times: Array<number> = []
  for (const [n, { conversationId }] of turns.entries()) {
    const before = performance.now()
    await post(port, `/v1/conversations/${conversationId}/auto-retry`, { enabled: true }, "PUT")
    bare.push(performance.now() - before)
    const asked = performance.now()
    const sealed = post(port, `/v1/conversations/${conversationId}/abort`, {})
    await Promise.all([sealed, exchanges[n]?.closed])
    times.push(performance.now() - asked)
  }
  child.kill("SIGKILL")
  return { state: state.name, times, bare }
}

const begin = async (port: number, prompt: string): Promise<Turn> => {
  const { conversationId = "" } = await post(port, "/v1/conversations", {})
  // Its end is not awaited here: an abort ends it.
  void post(port, `/v1/conversations/${conversationId}/turns`, { prompt, turnId: prompt }).catch(() => {})
  return { prompt, conversationId }
}

const print = (database: string, measured: ReadonlyArray<Measured>): void => {
  FigureTable.print(
    `Abort on ${database}: p99 until the turn is sealed and its socket is free, beside one small write over HTTP`,
    measured.map(({ bare, state, times }) => ({
      what: state,
      holdfast: FigureTable.quantile(times, 0.99),
      bare: FigureTable.quantile(bare, 0.99),
      unit: "ms",
      aim: undefined
    }))
  )
  for (const { state, times } of measured) {
    const [p50, p99] = [FigureTable.quantile(times, 0.5), FigureTable.quantile(times, 0.99)]
    const met = p99 <= AIM_MS ? "met" : "missed"
    console.log(`  ${state}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; aim p99 <= ${AIM_MS} ms ${met}`)
  }
}
