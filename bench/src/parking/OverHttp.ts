/** Parks over HTTP: prompts in, a provider on a socket that answers 529, until every turn waits. */
import { Agent } from "undici"
import { join } from "node:path"
import * as Processes from "../Processes.ts"
import * as Prepared from "./Prepared.ts"
import * as Service from "./Service.ts"

const AT_ONCE = 500

/**
 * How a client parks a turn.
 *
 * `watched`: it streams events, and leaves once it has seen the wait. `submitted`: it asks for 202 and leaves then; the turns wait
 * when the service's metrics count them.
 */
export type ClientKind = "watched" | "submitted"

export interface Speed {
  readonly perSecond: number
  /** Of the server, in microseconds. */
  readonly cpuAPark: number
}

/** Parks a turn of each conversation; `undefined` from a service that does not know this way. */
export const service = async (
  place: Processes.Place,
  provider: number,
  prepared: Prepared.Prepared,
  way: ClientKind
): Promise<Speed | undefined> => {
  const database = Prepared.copyOf(place, prepared.fresh)
  const ids = prepared.sql.conversationsIn(database)
  const process = await Service.start(place, prepared.tree, { database, provider, turns: 0 })
  try {
    if (way === "submitted" && !(await answersAsync(process.port))) return undefined
    return await park(
      process,
      ids.map((id) => `/v1/conversations/${id}/turns`),
      way
    )
  } finally {
    await Processes.stop(process)
  }
}

let loops = 0

/** The same of a loop by hand. */
export const bare = async (
  place: Processes.Place,
  provider: number,
  turns: number,
  way: ClientKind
): Promise<Speed> => {
  const file = join(place.folder, `bare-${++loops}.db`)
  const process = await Processes.server(place, "parking/BareLoop.ts", String(provider), file)
  try {
    return await park(
      process,
      Array.from({ length: turns }, () => "/turns"),
      way
    )
  } finally {
    await Processes.stop(process)
  }
}

/** Where to post a turn. */
export interface Place {
  readonly origin: string
  readonly path: string
}

/**
 * Posts a turn to each place. A watched turn's client leaves once the turn waits, a submitted one's once it is accepted.
 *
 * @param atOnce how many clients there are
 */
export const handIn = async (places: ReadonlyArray<Place>, way: ClientKind, atOnce = AT_ONCE): Promise<void> => {
  // A client that leaves closes its connection, so each watched turn has its own.
  const agent = new Agent({ connections: null, pipelining: 1 })
  const next = places.entries()
  const worker = async (): Promise<void> => {
    for (const [n, { origin, path }] of next) await one(agent, origin, path, `wait for me ${n}`, way)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  await agent.destroy()
}

/**
 * Parks a turn at each path. The first turns compile what they run, in the loop as in the service; they count. `before`: turns of the process that
 * wait already.
 */
export const park = async (
  process: Processes.Process,
  paths: ReadonlyArray<string>,
  way: ClientKind,
  before = 0
): Promise<Speed> => {
  const origin = `http://127.0.0.1:${process.port}`
  const cpuBefore = Processes.cpuMs(process)
  const start = performance.now()
  await handIn(
    paths.map((path) => ({ origin, path })),
    way
  )
  if (way === "submitted") while ((await waiting(origin)) < before + paths.length) await Processes.pause(50)
  const seconds = (performance.now() - start) / 1_000
  const cpuAPark = ((Processes.cpuMs(process) - cpuBefore) * 1_000) / paths.length
  return { perSecond: paths.length / seconds, cpuAPark }
}

// --- internal

const one = (agent: Agent, origin: string, path: string, prompt: string, way: ClientKind): Promise<void> =>
  new Promise((resolve, reject) => {
    let isOver = false
    let status = 0
    let answer = ""
    const over = (): void => {
      isOver = true
      resolve()
    }
    agent.dispatch(
      {
        origin,
        path,
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: way === "watched" ? "application/x-ndjson" : "application/json",
          ...(way === "submitted" ? { prefer: "respond-async" } : {})
        },
        body: JSON.stringify({ prompt })
      },
      {
        onRequestStart: () => {},
        onResponseStart: (_, code) => {
          status = code
        },
        onResponseData: (controller, chunk) => {
          if (isOver || (way === "submitted" && status < 400)) return
          answer += chunk.toString()
          if (!answer.includes('"type":"provider-retry"')) return
          over()
          controller.abort(new Error("The client leaves."))
        },
        onResponseEnd: () => (status < 400 ? over() : reject(new Error(`the server answered ${status}: ${answer}`))),
        onResponseError: (_, error) => {
          if (!isOver) reject(error)
        }
      }
    )
  })

const waiting = async (origin: string): Promise<number> => {
  const text = await (await fetch(`${origin}/metrics`)).text()
  return Number(/holdfast_turns\{[^}]*status="retrying"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0)
}

const answersAsync = async (port: number): Promise<boolean> =>
  (await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).text()).includes("respond-async")
