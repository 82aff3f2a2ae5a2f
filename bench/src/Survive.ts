/**
 * What a hostile provider, tool server or client does to everybody else: `/healthz` while one of them attacks, beside a server of a few lines
 * that is probed alike at the same time; and how soon a body that is refused has its 400.
 *
 * Each attack meets a service of its own with a heap of 512 MB, for 20 seconds; turns that end are followed by others at once.
 * Attacker, service and probe are processes of their own on the cores of one machine, so a part of each figure is the attacker's, or that of other
 * programs. The plain server waits for them too, and more is printed of the service: the longest moment of its main thread, and how long that waited
 * for a core.
 *
 * `HOLDFAST_BENCH_ATTACKS` is a pattern of the attacks to run.
 */
import type { ChildProcess } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { pause, PORT, post, start } from "./Processes.ts"
import * as Processes from "./Processes.ts"
import * as FigureTable from "./FigureTable.ts"
import * as LongRow from "./survive/LongRow.ts"
import { probe } from "./survive/Probe.ts"

const ATTACK_MS = 20_000
/** A service's first requests compile what they run. */
const WARM_UP_MS = 1_500
const READERS = 2_000
/** From one turn that they watch to the next. Without it the conversation grows by megabytes, and reading it is what is measured. */
const TURN_INTERVAL_MS = 2_000

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const children: Array<ChildProcess> = []
  try {
    const provider = await start(children, folder, [join(import.meta.dirname, "survive/HostileProvider.ts")], PORT)
    const plain = Number(await start(children, folder, ["--eval", PLAIN], PORT))
    const results = []
    for (const attack of ATTACKS.filter(({ name }) => CHOSEN.test(name))) {
      const service = await serve(children, folder, provider, attack)
      await probe(service.port, pause(WARM_UP_MS))
      await longestMoment(service.child, folder)
      const cpuBefore = Processes.cpuMs(service)
      const waitBefore = waitedMs(service.child)
      const over = pause(ATTACK_MS)
      const ended: Record<string, number> = {}
      const refused: Array<Refusal> = []
      // A call that is under way in the end, or when the service dies, has no answer.
      const attacking = attack
        .run({ service, children, folder, isOver: isSettled(over), ended, refused })
        .catch(() => {})
      const [times, bare] = await Promise.all([probe(service.port, over), probe(plain, over)])
      const isAlive =
        times.some(Number.isFinite) && service.child.exitCode === null && service.child.signalCode === null
      results.push({
        attack,
        bare,
        times,
        isAlive,
        ended,
        refused,
        cpu: isAlive ? (Processes.cpuMs(service) - cpuBefore) / ATTACK_MS : NaN,
        waited: isAlive ? (waitedMs(service.child) - waitBefore) / ATTACK_MS : NaN,
        momentMs: isAlive ? await longestMoment(service.child, folder) : NaN,
        residentMiB: isAlive ? Processes.residentBytes(service.child) / 1024 ** 2 : NaN
      })
      service.child.kill("SIGKILL")
      await attacking
    }
    FigureTable.print(
      "A hostile neighbour: /healthz p99 under attack, beside a plain server at the same time",
      results.map(({ attack, bare, times }) => ({
        what: attack.name,
        holdfast: FigureTable.quantile(times, 0.99),
        bare: FigureTable.quantile(bare, 0.99),
        unit: "ms",
        aim: { atMost: 100, of: "figure" }
      }))
    )
    FigureTable.print(
      "Bodies of too many values: from the first byte to a 400 (a close with 1009 at a WebSocket), p99",
      results
        .filter(({ attack }) => attack.isRefused)
        .map(({ attack, refused }) => ({
          what: attack.name,
          holdfast: FigureTable.quantile(
            refused.map(({ ms, status }) => (status === 400 ? ms : Infinity)),
            0.99
          ),
          bare: undefined,
          unit: "ms",
          aim: { atMost: 100, of: "figure" }
        }))
    )
    for (const { attack, bare, cpu, ended, isAlive, momentMs, residentMiB, times, waited } of results) {
      const ends = Object.entries(ended).map(([status, count]) => `, ${count} turns ${status}`)
      const worst = `slowest /healthz ${Math.max(...times).toFixed(0)} ms (bare ${Math.max(...bare).toFixed(0)} ms)`
      const load = `${(100 * cpu).toFixed(0)} % CPU, waited for a core ${(100 * waited).toFixed(0)} % of the time`
      const fate = isAlive ? `alive, ${residentMiB.toFixed(0)} MiB resident, ${load}` : "DEAD"
      console.log(`  ${attack.name}: ${fate}; longest moment ${momentMs.toFixed(0)} ms; ${worst}${ends.join("")}`)
    }
    const { commitMs, insertMs } = LongRow.measure(folder)
    console.log(
      `  SQLite alone: a row of 16 Mi characters holds its thread for ${insertMs.toFixed(0)} ms, its commit for ${commitMs.toFixed(0)} ms (medians).`
    )
  } finally {
    for (const child of children) child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

const CHOSEN = new RegExp(process.env["HOLDFAST_BENCH_ATTACKS"] ?? "")

/** A server that does nothing. */
const PLAIN =
  "const server = require('http').createServer((_, response) => response.end()).listen(0, '127.0.0.1', () => console.log(server.address().port))"

const MOMENTS = join(import.meta.dirname, "survive/Moments.ts")
const MOMENT_FILE = "moment"

/** How long its main thread has waited for a core of this machine. On Linux alone. */
const waitedMs = ({ pid }: ChildProcess): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6

/** The longest moment of a service since the last call, in milliseconds. */
const longestMoment = async (service: ChildProcess, folder: string): Promise<number> => {
  const file = join(folder, MOMENT_FILE)
  rmSync(file, { force: true })
  service.kill("SIGUSR2")
  for (;;) {
    await pause(50)
    const written = existsSync(file) ? readFileSync(file, "utf8") : ""
    if (written !== "") return Number(written)
  }
}

interface Attacked {
  readonly service: { readonly port: number }
  readonly children: Array<ChildProcess>
  readonly folder: string
  readonly isOver: () => boolean
  /** Turns that have ended, by their status. */
  readonly ended: Record<string, number>
  /** Requests of the attacker that were refused. */
  readonly refused: Array<Refusal>
}

interface Refusal {
  readonly status: number
  readonly ms: number
}

interface Attack {
  readonly name: string
  readonly path: string
  readonly config?: object
  /** The most descriptors of the service. */
  readonly files?: number | undefined
  /** Each of its requests is to be refused with 400. */
  readonly isRefused?: boolean
  readonly run: (attacked: Attacked) => Promise<void>
}

/** Turn after turn, some at once. */
const turns =
  (atOnce: number) =>
  async ({ ended, isOver, service }: Attacked): Promise<void> => {
    const one = async (): Promise<void> => {
      while (!isOver()) {
        const { conversationId } = await post(service.port, "/v1/conversations", {})
        const { status } = await post(service.port, `/v1/conversations/${conversationId}/turns`, { prompt: "Go" })
        ended[status ?? "?"] = (ended[status ?? "?"] ?? 0) + 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, one))
  }

/** The same request again and again, from a process of its own. */
const requests =
  (kind: string) =>
  async ({ children, folder, isOver, refused, service }: Attacked): Promise<void> => {
    const flood = join(import.meta.dirname, "survive/RequestFlood.ts")
    await start(children, folder, [flood, String(service.port), kind], /(there)/)
    const attacker = children.at(-1)
    const { stdout } = attacker ?? {}
    if (stdout)
      createInterface(stdout).on("line", (line) => {
        const [status, ms] = line.split(" ").map(Number)
        if (status !== undefined && ms !== undefined) refused.push({ status, ms })
      })
    while (!isOver()) await pause(100)
    attacker?.kill("SIGKILL")
  }

const FILES: { readonly [kind: string]: number } = { descriptors: 300 }
const REFUSED: ReadonlySet<string> = new Set(["prompt", "chat", "socket"])

const ATTACKS: ReadonlyArray<Attack> = [
  ...Object.entries({
    prompt: "prompts of 30 MB of {}",
    chat: "messages of /v1/chat of 30 MB of {}",
    socket: "WebSocket messages of 30 MB of {}",
    large: "gateway calls of 48 MB of {}",
    long: "gateway calls of 400,000 values",
    deep: "gateway calls of 5,000 levels",
    names: "models with names of 20 kB",
    answers: "dry runs of long answers",
    turns: "dry runs of a thousand turns",
    bodies: "bodies of 29 MB that never end",
    descriptors: "connections that take all descriptors"
  }).map(([kind, name]): Attack => ({
    name,
    path: "short-answer",
    run: requests(kind),
    files: FILES[kind],
    isRefused: REFUSED.has(kind)
  })),
  { name: "an endless answer", path: "endless-answer", run: turns(1) },
  { name: "an endless tool call", path: "endless-call", run: turns(1) },
  {
    name: "a tool server that floods",
    path: "long-answer",
    config: {
      tools: { flood: { command: process.execPath, args: [join(import.meta.dirname, "survive/FloodingTools.ts")] } }
    },
    run: async () => {}
  },
  {
    name: "error bodies of 10 MB",
    path: "big-errors",
    config: { gate: { enabled: false }, retry: { schedule: { type: "steps", delays: ["10 millis"] } } },
    run: turns(2)
  },
  {
    name: `${READERS} readers that do not read`,
    path: "long-answer",
    run: async (attacked) => {
      const { children, folder, service } = attacked
      const { conversationId } = await post(service.port, "/v1/conversations", {})
      const path = `/v1/conversations/${conversationId}/events`
      const readers = [join(import.meta.dirname, "survive/SlowReaders.ts"), String(service.port), path, String(READERS)]
      await start(children, folder, readers, /(there)/)
      while (!attacked.isOver()) {
        const next = pause(TURN_INTERVAL_MS)
        const { status } = await post(service.port, `/v1/conversations/${conversationId}/turns`, { prompt: "Go" })
        attacked.ended[status ?? "?"] = (attacked.ended[status ?? "?"] ?? 0) + 1
        await next
      }
    }
  }
]

let services = 0

const serve = (children: Array<ChildProcess>, folder: string, provider: string, { config, files, path }: Attack) => {
  const name = String(++services)
  const providers = { hostile: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider}/${path}` } }
  const database = { path: join(folder, `${name}.db`) }
  return Processes.serve(children, folder, {
    name,
    config: { database, model: "hostile/m", providers, ...config },
    files,
    node: ["--max-old-space-size=512", `--import=${MOMENTS}`],
    env: { HOLDFAST_BENCH_MOMENTS: join(folder, MOMENT_FILE) }
  })
}

const isSettled = (promise: Promise<unknown>): (() => boolean) => {
  let settled = false
  void promise.then(() => (settled = true))
  return () => settled
}
