/**
 * Memory and processor time of 1,000 calls that the gateway holds through an outage, beside a plain server that only keeps their connections.
 *
 * A call has the headers of a real client and a body of `BODY` bytes, which is subtracted: the gateway must keep it to send it again. A small
 * crowd comes first, so that compiled code does not count. `HOLDFAST_BENCH_SNAPSHOT=DIR` keeps a heap snapshot of the service in that folder.
 */
import { Agent, type ClientRequest, request } from "node:http"
import * as FigureTable from "./FigureTable.ts"
import * as Held from "./Held.ts"
import * as Processes from "./Processes.ts"
import * as Rounds from "./Rounds.ts"
import * as Trees from "./Trees.ts"

const CALLS = Number(process.env["HOLDFAST_BENCH_CALLS"] ?? 1_000)
const WARM_UP = 100
const BODY = 1_000

/** Every call has its head and two heartbeats by then. */
const SETTLE_MS = 42_000

/** While the processor is measured. */
const WATCH_MS = 60_000

/** Runs the benchmark and prints it. */
export const run = (): Promise<void> =>
  Processes.inPlace(async (place) => {
    const endpoint = await Processes.server(place, "gateway/Refusing.ts")
    const snapshots = process.env["HOLDFAST_BENCH_SNAPSHOT"]
    let services = 0
    const service = (tree: Trees.Tree | undefined) =>
      tree &&
      (async () => {
        const name = `held-${++services}`
        const process = await Processes.serve(place.children, place.folder, {
          name,
          tree,
          config: {
            database: { path: `./${name}.db` },
            model: "own/m",
            providers: { own: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${endpoint.port}` } },
            retry: { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" } }
          },
          node: [
            ...Held.NODE_OPTIONS,
            ...(snapshots === undefined ? [] : ["--heapsnapshot-signal=SIGPROF", `--diagnostic-dir=${snapshots}`])
          ]
        })
        return measure(process, "/to/own/chat/completions")
      })
    const plain = async () =>
      measure(await Processes.serverWith(place, Held.NODE_OPTIONS, "gateway/Plain.ts"), "/chat/completions")
    const samples = await Rounds.alternate<"here" | "beside" | "bare", Cost>(
      { bare: plain, here: service(Trees.here), beside: service(Trees.beside) },
      Rounds.count(1)
    )
    const row = (
      what: string,
      of: (cost: Cost) => number,
      aim?: FigureTable.Aim,
      unit: FigureTable.Row["unit"] = "kB"
    ): FigureTable.Row => ({
      what,
      holdfast: samples.here.map(of),
      beside: samples.beside.map(of),
      bare: samples.bare.map(of),
      unit,
      aim
    })
    FigureTable.print(`${CALLS} held calls; kB a call, less its body`, [
      row("held after a collection", ({ held }) => held, { atMost: 20, of: "figure" }),
      row("resident", ({ resident }) => resident)
    ])
    FigureTable.print(`${CALLS} held calls; processor time of a second`, [
      row("processor", ({ cpuMs }) => cpuMs, { atMost: CALLS * MS_A_CALL, of: "figure" }, "ms")
    ])
  })

// --- internal

/** Half a hundredth of a core for 300 calls. */
const MS_A_CALL = 5 / 300

/** kB a call, and milliseconds of the processor a second, for all calls. */
interface Cost {
  readonly held: number
  readonly resident: number
  readonly cpuMs: number
}

const measure = async (server: Processes.Process, path: string): Promise<Cost> => {
  const first = await crowd(server, path, WARM_UP)
  await Processes.pause(SETTLE_MS)
  for (const call of first) call.destroy()
  await Processes.pause(2_000)
  const before = await memoryOf(server)
  const calls = await crowd(server, path, CALLS)
  await Processes.pause(SETTLE_MS)
  const after = await memoryOf(server)
  const cpuBefore = Processes.cpuMs(server)
  await Processes.pause(WATCH_MS)
  const cpuMs = ((Processes.cpuMs(server) - cpuBefore) / WATCH_MS) * 1_000
  if (process.env["HOLDFAST_BENCH_SNAPSHOT"] !== undefined) {
    server.child.kill("SIGPROF")
    await Processes.pause(20_000)
  }
  for (const call of calls) call.destroy()
  await Processes.stop(server)
  const each = (bytes: number): number => (bytes / CALLS - BODY) / 1_000
  return { held: each(after.held - before.held), resident: each(after.resident - before.resident), cpuMs }
}

const memoryOf = async ({ child }: Processes.Process): Promise<Omit<Cost, "cpuMs">> => {
  const held = await Held.bytes(child)
  return { held, resident: Processes.residentBytes(child) }
}

/** Makes calls, each with a connection of its own, and returns when their bodies are sent. */
const crowd = async (server: Processes.Process, path: string, count: number): Promise<ReadonlyArray<ClientRequest>> => {
  const agent = new Agent({ keepAlive: false })
  const calls: Array<ClientRequest> = []
  // As many at once as a server's backlog takes.
  while (calls.length < count) {
    const some = Array.from({ length: Math.min(100, count - calls.length) }, (_, n) =>
      sent(agent, server, path, bodyOf(calls.length + n))
    )
    calls.push(...(await Promise.all(some)))
  }
  return calls
}

const sent = (agent: Agent, { port }: Processes.Process, path: string, body: string): Promise<ClientRequest> =>
  new Promise((resolve, reject) => {
    const headers = { ...HEADERS, "content-length": String(body.length) }
    const call = request({ agent, port, host: "127.0.0.1", method: "POST", path, headers }, (response) => {
      response.on("error", () => {})
      if (response.statusCode === 200) response.resume()
      else reject(new Error(`a held call was answered with ${response.statusCode}`))
    })
    call.on("error", (error) => {
      if (!call.destroyed) reject(error)
    })
    call.end(body, () => resolve(call))
  })

/** Each call is another one. */
const bodyOf = (n: number): string => {
  const body = (content: string) => JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content }] })
  const text = String(n)
  return body(text + "x".repeat(BODY - body(text).length))
}

/** The headers of OpenAI's SDK. */
const HEADERS = {
  accept: "application/json",
  "content-type": "application/json",
  "user-agent": "OpenAI/JS 6.49.0",
  authorization: "Bearer sk-bench-0123456789012345678901234567890123456789",
  "x-stainless-arch": "x64",
  "x-stainless-lang": "js",
  "x-stainless-os": "Linux",
  "x-stainless-package-version": "6.49.0",
  "x-stainless-retry-count": "0",
  "x-stainless-runtime": "node",
  "x-stainless-runtime-version": "v24.21.0",
  "x-stainless-timeout": "600",
  "accept-language": "*",
  "sec-fetch-mode": "cors",
  "accept-encoding": "gzip, deflate"
}
