/**
 * What the gateway costs a call that succeeds at once: deltas a second and CPU of streams, and time to the first byte.
 *
 * The bare limit is a proxy of two pipes (`gateway/Pipe.ts`), measured in alternation with the gateway: the same endpoint, the same client.
 */
import { Agent, request } from "node:http"
import { join } from "node:path"
import * as FigureTable from "./FigureTable.ts"
import { cpuMs, inPlace, type Process, serve, server } from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const DELTAS = 20_000
const STREAMS = 8
/** Rounds until the programs are compiled. */
const WARM_UP = 4
const CALLS = 400

/** Short calls of a round, whose CPU is counted. */
const SHORT = 500

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  inPlace(async (place) => {
    const endpoint = await server(place, "gateway/Endpoint.ts")
    const pipe = await server(place, "gateway/Pipe.ts", String(endpoint.port))
    const gateway = (tree: Trees.Tree) =>
      serve(place.children, place.folder, {
        name: `gateway-${tree.name}`,
        tree,
        config: {
          providers: { own: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${endpoint.port}` } },
          model: "own/m",
          database: { path: join(place.folder, `gateway-${tree.name}.db`) }
        }
      })
    const started = await Trees.each(gateway)
    const path = "/to/own/chat/completions"
    const ways: Readonly<Record<Name, Way | undefined>> = {
      bare: { process: pipe, path: "/chat/completions" },
      here: { process: started.here, path },
      beside: started.beside && { process: started.beside, path }
    }
    const each = <A>(measure: (way: Way) => Promise<A>, rounds: number, warmUp: number) => {
      const of = (way: Way | undefined) => way && (() => measure(way))
      const { bare, beside, here } = ways
      return Rounds.alternate<Name, A>({ bare: of(bare), here: of(here), beside: of(beside) }, rounds, warmUp)
    }
    const streams = await each(stream, Rounds.count(5), WARM_UP)
    const shorts = await each(short, Rounds.count(5), WARM_UP)
    const agent = new Agent({ keepAlive: true })
    const calls = await each((way) => call(way, 1, agent), (CALLS * 3) / 4, CALLS / 4)
    agent.destroy()
    const row = (
      what: string,
      unit: string,
      of: (name: Name) => ReadonlyArray<number>,
      aim: FigureTable.Row["aim"]
    ): FigureTable.Row => ({ what, holdfast: of("here"), beside: of("beside"), bare: of("bare"), unit, aim })
    const firstMs = (name: Name) => FigureTable.median(calls[name].map(({ firstMs }) => firstMs))
    FigureTable.print(
      `Gateway: ${STREAMS} streams of ${DELTAS} deltas at once, and calls one by one, beside a proxy of two pipes`,
      [
        row("deltas a second", "/s", (name) => streams[name].map(({ rate }) => rate), { atLeast: 0.8 }),
        row("CPU a delta", "us", (name) => streams[name].map(({ cpu }) => cpu), { atMost: 1.25 }),
        row("CPU a short call", "us", (name) => shorts[name], undefined),
        row("first byte, p50", "ms", (name) => (ways[name] === undefined ? [] : [firstMs(name)]), undefined),
        {
          what: "first byte, added to the proxy's",
          holdfast: firstMs("here") - firstMs("bare"),
          bare: undefined,
          unit: "ms",
          aim: { atMost: 0.5, of: "figure" }
        }
      ]
    )
  })

// --- internal

type Name = "bare" | "here" | "beside"

/** CPU of a short call, in microseconds. */
const short = async (way: Way): Promise<number> => {
  const agent = new Agent({ keepAlive: true })
  const before = cpuMs(way.process)
  for (let n = 0; n < SHORT; n++) await call(way, 1, agent)
  agent.destroy()
  return ((cpuMs(way.process) - before) * 1000) / SHORT
}

interface Way {
  readonly process: Process
  readonly path: string
}

const stream = async (way: Way): Promise<{ readonly rate: number; readonly cpu: number }> => {
  const agent = new Agent({ keepAlive: true })
  const [began, cpuBefore] = [performance.now(), cpuMs(way.process)]
  await Promise.all(Array.from({ length: STREAMS }, () => call(way, DELTAS, agent)))
  const [tookMs, cpu] = [performance.now() - began, cpuMs(way.process) - cpuBefore]
  agent.destroy()
  const deltas = STREAMS * DELTAS
  return { rate: (deltas / tookMs) * 1000, cpu: (cpu * 1000) / deltas }
}

const call = ({ path, process }: Way, deltas: number, agent: Agent): Promise<{ readonly firstMs: number }> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ model: String(deltas), stream: true, messages: [{ role: "user", content: "Hello" }] })
    const began = performance.now()
    let firstMs = 0
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      authorization: "Bearer sk-bench-0123456789"
    }
    const sent = request(
      { agent, port: process.port, host: "127.0.0.1", method: "POST", path, headers },
      (response) => {
        response.once("data", () => (firstMs = performance.now() - began))
        response.resume()
        response.on("end", () =>
          response.statusCode === 200 ? resolve({ firstMs }) : reject(new Error(`status ${response.statusCode}`))
        )
        response.on("error", reject)
      }
    )
    sent.on("error", reject)
    sent.end(body)
  })
