/**
 * What the gateway costs a call that succeeds at once: deltas a second and CPU of streams, and time to the first byte.
 *
 * The bare limit is a proxy of two pipes (`gateway/Pipe.ts`), measured in alternation with the gateway: the same endpoint, the same client.
 */
import { Agent, request } from "node:http"
import { join } from "node:path"
import * as FigureTable from "./FigureTable.ts"
import { cpuMs, inPlace, type Process, serve, server } from "./Processes.ts"

const DELTAS = 20_000
const STREAMS = 8
const ROUNDS = Number(process.env["HOLDFAST_BENCH_ROUNDS"] ?? 5)
/** Rounds until the programs are compiled. */
const WARM_UP = 4
const CALLS = 400

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  inPlace(async (place) => {
    const endpoint = await server(place, "gateway/Endpoint.ts")
    const pipe = await server(place, "gateway/Pipe.ts", String(endpoint.port))
    const holdfast = await serve(place.children, place.folder, {
      name: "gateway",
      config: {
        providers: { own: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${endpoint.port}` } },
        model: "own/m",
        database: { path: join(place.folder, "gateway.db") }
      }
    })
    const ways = {
      bare: { process: pipe, path: "/chat/completions" },
      holdfast: { process: holdfast, path: "/to/own/chat/completions" }
    }
    const rates: Record<keyof typeof ways, Array<number>> = { bare: [], holdfast: [] }
    const costs: Record<keyof typeof ways, Array<number>> = { bare: [], holdfast: [] }
    const firsts: Record<keyof typeof ways, Array<number>> = { bare: [], holdfast: [] }
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      for (const name of ["bare", "holdfast"] as const) {
        const { rate, cpu } = await stream(ways[name])
        if (round < 0) continue
        rates[name].push(rate)
        costs[name].push(cpu)
      }
    }
    const agent = new Agent({ keepAlive: true })
    for (let n = 0; n < CALLS; n++) {
      for (const name of ["bare", "holdfast"] as const) {
        const ms = (await call(ways[name], 1, agent)).firstMs
        if (n >= CALLS / 4) firsts[name].push(ms)
      }
    }
    agent.destroy()
    const added = FigureTable.median(firsts.holdfast) - FigureTable.median(firsts.bare)
    FigureTable.print(
      `Gateway: ${STREAMS} streams of ${DELTAS} deltas at once, and calls one by one, beside a proxy of two pipes`,
      [
        { what: "deltas a second", holdfast: rates.holdfast, bare: rates.bare, unit: "/s", aim: { atLeast: 0.8 } },
        { what: "CPU a delta", holdfast: costs.holdfast, bare: costs.bare, unit: "us", aim: { atMost: 1.25 } },
        {
          what: "first byte, p50",
          holdfast: FigureTable.median(firsts.holdfast),
          bare: FigureTable.median(firsts.bare),
          unit: "ms",
          aim: undefined
        },
        {
          what: "first byte, added to the proxy's",
          holdfast: added,
          bare: undefined,
          unit: "ms",
          aim: { atMost: 0.5, of: "figure" }
        }
      ]
    )
  })

// --- internal

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
