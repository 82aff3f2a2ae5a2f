/** Runners that share one database, as processes, and the ways in which clients reach them. */
import * as Client from "../Client.ts"
import * as Postgres from "../Postgres.ts"
import * as Processes from "../Processes.ts"
import type { Tree } from "../Trees.ts"

/** Runners that share one database. */
export type Fleet = ReadonlyArray<Processes.Process>

/**
 * Which runner a client asks.
 *
 * `stay`: the runner that made the conversation, as over a connection that is kept, or behind a balancer that knows its clients. `either`: any
 * runner, so that every second call is for a conversation of the other.
 */
export type ClientKind = "stay" | "either"

/** What the runners of a measurement did. */
export interface Speed {
  readonly perSecond: number
  /** Of all runners, in microseconds for each thing that they did. */
  readonly cpu: number
}

let databases = 0

/** Starts so many runners on a new database, and waits until each is ready. */
export const start = async (
  place: Processes.Place,
  postgres: Postgres.Server,
  count: number,
  config: object,
  tree?: Tree
): Promise<Fleet> => {
  const name = `runners${++databases}`
  const url = await postgres.database(name)
  const profile = process.env["HOLDFAST_BENCH_PROFILE"]
  const fleet: Array<Processes.Process> = []
  for (let n = 0; n < count; n++) {
    const runner = await Processes.serve(place.children, place.folder, {
      name: `${name}-${n}`,
      ...(tree === undefined ? {} : { tree }),
      config: { cluster: { shards: 60 }, telemetry: { retryLog: false }, gate: { enabled: false }, ...config },
      node: profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}/${name}-${n}`],
      env: { HOLDFAST_DATABASE_URL: url, HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${await Postgres.freePort()}` }
    })
    while (!(await fetch(`http://127.0.0.1:${runner.port}/readyz`)).ok) await Processes.pause(50)
    fleet.push(runner)
  }
  return fleet
}

/** Starts bare inserters on a new database. */
export const startBare = async (place: Processes.Place, postgres: Postgres.Server, count: number): Promise<Fleet> => {
  const url = await postgres.database(`bare${count}`)
  return Promise.all(Array.from({ length: count }, () => Processes.server(place, "runners/BareInserter.ts", url)))
}

/** Makes a conversation for client `n`, at the runners in turn; returns the server to send its turns to, and their path. */
export const open = async (
  fleet: Fleet,
  n: number,
  kind: ClientKind,
  options: object
): Promise<{ readonly server: Client.Server; readonly path: string }> => {
  const { port } = at(fleet, n)
  const { conversationId } = await Processes.post(port, "/v1/conversations", options)
  // Of two clients of one runner, one asks the other runner.
  const asked = kind === "stay" ? n : n + Math.floor(n / fleet.length)
  return { server: Client.holdfast(at(fleet, asked).port), path: `/v1/conversations/${conversationId}/turns` }
}

/** Measures the time and the runners' CPU while they do so many things. */
export const timed = async (fleet: Fleet, count: number, act: () => Promise<unknown>): Promise<Speed> => {
  const before = cpuMs(fleet)
  const start = performance.now()
  await act()
  const seconds = (performance.now() - start) / 1_000
  return { perSecond: count / seconds, cpu: ((cpuMs(fleet) - before) * 1_000) / count }
}

/** The CPU of all runners so far, in milliseconds. */
export const cpuMs = (fleet: Fleet): number => fleet.reduce((sum, runner) => sum + Processes.cpuMs(runner), 0)

/** One of the runners, counted round and round. */
export const at = (fleet: Fleet, n: number): Processes.Process => {
  const runner = fleet[n % fleet.length]
  if (runner === undefined) throw new Error("there is no runner")
  return runner
}
