/**
 * What a hostile provider, tool server or client does to everybody else: `/healthz` while one of them attacks, beside the same
 * service when it is idle.
 *
 * Each attack meets a service of its own with a heap of 512 MB, for 20 seconds; turns that end are followed by others at once.
 * Attacker, service and probe are processes of their own on the cores of one machine, so a part of each figure is the attacker's.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Report from "./Report.ts"
import { probe } from "./survive/Probe.ts"

const ATTACK_MS = 20_000
const IDLE_MS = 5_000
const READERS = 2_000

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const children: Array<ChildProcess> = []
  try {
    const provider = await start(children, folder, [join(import.meta.dirname, "survive/HostileProvider.ts")], PORT)
    const results = []
    for (const attack of ATTACKS) {
      const service = await serve(children, folder, provider, attack)
      const idle = await probe(service.port, pause(IDLE_MS))
      const over = pause(ATTACK_MS)
      const ended: Record<string, number> = {}
      // A call that is under way in the end, or when the service dies, has no answer.
      const attacking = attack.run({ service, children, folder, isOver: isSettled(over), ended }).catch(() => {})
      const times = await probe(service.port, over)
      const isAlive =
        times.some(Number.isFinite) && service.child.exitCode === null && service.child.signalCode === null
      results.push({ attack, idle, times, isAlive, ended, residentMiB: isAlive ? residentMiB(service.child) : NaN })
      service.child.kill("SIGKILL")
      await attacking
    }
    Report.print(
      "A hostile neighbour: /healthz p99 under attack, beside the same service idle",
      results.map(({ attack, idle, times }) => ({
        what: attack.name,
        holdfast: Report.quantile(times, 0.99),
        bare: Report.quantile(idle, 0.99),
        unit: "ms",
        aim: undefined
      }))
    )
    for (const { attack, ended, isAlive, residentMiB, times } of results) {
      const ends = Object.entries(ended).map(([status, count]) => `${count} turns ${status}`)
      const worst = Math.max(...times).toFixed(0)
      const fate = isAlive ? `alive, ${residentMiB.toFixed(0)} MiB resident` : "DEAD"
      console.log(`  ${attack.name}: ${fate}; slowest /healthz ${worst} ms; ${ends.join(", ") || "no turn has ended"}`)
    }
  } finally {
    for (const child of children) child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

interface Attacked {
  readonly service: { readonly port: number }
  readonly children: Array<ChildProcess>
  readonly folder: string
  readonly isOver: () => boolean
  /** Turns that have ended, by their status. */
  readonly ended: Record<string, number>
}

interface Attack {
  readonly name: string
  readonly path: string
  readonly config?: object
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

const ATTACKS: ReadonlyArray<Attack> = [
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
        const { status } = await post(service.port, `/v1/conversations/${conversationId}/turns`, { prompt: "Go" })
        attacked.ended[status ?? "?"] = (attacked.ended[status ?? "?"] ?? 0) + 1
      }
    }
  }
]

const MAIN = join(import.meta.dirname, "../../apps/session-orchestrator/src/main.ts")
const PORT = /(?:^|127\.0\.0\.1:)(\d{4,5})\b/m

let services = 0

const serve = async (children: Array<ChildProcess>, folder: string, provider: string, { config, path }: Attack) => {
  const file = join(folder, `${++services}.json`)
  const providers = { hostile: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider}/${path}` } }
  const database = { path: join(folder, `${services}.db`) }
  writeFileSync(file, JSON.stringify({ server: { port: 0 }, database, model: "hostile/m", providers, ...config }))
  const port = await start(children, folder, ["--max-old-space-size=512", MAIN, "serve", "--config", file], PORT)
  const child = children.at(-1)
  if (child === undefined) throw new Error("there is no service")
  return { child, port: Number(port) }
}

/** Starts a program, and waits until it prints what matches. */
const start = (
  children: Array<ChildProcess>,
  cwd: string,
  args: ReadonlyArray<string>,
  pattern: RegExp
): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "ignore"] })
    children.push(child)
    let printed = ""
    child.stdout.on("data", (text: Buffer) => {
      printed += text.toString()
      const found = pattern.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on("exit", (code) => reject(new Error(`a process of the benchmark ended with ${code}: ${printed}`)))
  })

interface Answer {
  readonly conversationId?: string
  readonly status?: string
}

const post = (port: number, path: string, body: object): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    const outgoing = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent: false }, (response) => {
      let answer = ""
      response.setEncoding("utf8").on("data", (part: string) => (answer += part))
      response.on("end", () => resolve(JSON.parse(answer)))
      response.on("error", reject)
    })
    outgoing.on("error", reject)
    outgoing.end(text)
  })

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const isSettled = (promise: Promise<unknown>): (() => boolean) => {
  let settled = false
  void promise.then(() => (settled = true))
  return () => settled
}

const residentMiB = ({ pid }: ChildProcess): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
