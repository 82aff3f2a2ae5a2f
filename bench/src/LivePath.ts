/**
 * The live path against a plain node:http server: a prompt in over HTTP, a provider on a socket, NDJSON out.
 *
 * Provider, server and client are processes of their own, on two cores in all, so the server has about one; the provider
 * writes frames that it made once, and the client only counts. Holdfast does what it always does: the prompt and the
 * answer are on disk, with a full sync each.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Report from "./Report.ts"

const AT_ONCE = 32
const DELTAS = 5_000
const ROUNDS = 6

/** Runs the benchmark and prints it. */
export const run = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-"))
  const children: Array<ChildProcess> = []
  const start = async (file: string, ...args: ReadonlyArray<string>) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      cwd: folder
    })
    children.push(child)
    return firstMatch(child, /(?:^|127\.0\.0\.1:)(\d{4,5})\b/m)
  }
  try {
    const provider = await start("FakeProvider.ts", String(DELTAS))
    const plain = plainServer(Number(await start("PlainServer.ts", provider)))
    const collector = await start("Collector.ts")
    const serve = async (name: string, database: string, telemetry: object) => {
      const config = join(folder, `${name}.json`)
      writeFileSync(
        config,
        JSON.stringify({
          server: { port: 0 },
          database: { path: database },
          model: "bench/m",
          providers: { bench: { type: "openai-compatible", baseUrl: `http://127.0.0.1:${provider}/v1` } },
          telemetry
        })
      )
      const main = "../../apps/session-orchestrator/src/main.ts"
      return holdfastServer(Number(await start(main, "serve", "--config", config)))
    }
    const holdfast = await serve("durable", "./durable.db", { retryLog: false })
    const inMemory = await serve("memory", ":memory:", {})
    const telling = await serve("telling", "./telling.db", {
      otlp: { endpoint: `http://127.0.0.1:${collector}` },
      notifications: { webhook: `http://127.0.0.1:${collector}` }
    })

    const bare: Array<Round> = []
    const ours: Array<Round> = []
    const told: Array<Round> = []
    for (let i = 0; i <= ROUNDS; i++) {
      // Who comes right after the plain server has it easier, so each of them does, in turn.
      const limit = await round(plain)
      const before = i % 2 === 0 ? await round(telling) : undefined
      const rounds = [limit, await round(holdfast), before ?? (await round(telling))] as const
      if (i === 0) continue // to warm up
      bare.push(rounds[0])
      ours.push(rounds[1])
      told.push(rounds[2])
    }
    // In turns, so that whatever else the machine does meets all of them.
    const alone = { plain: [] as Array<number>, durable: [] as Array<number>, inMemory: [] as Array<number> }
    for (let i = 0; i < 110; i++) {
      const [bare, durable, memory] = [await turn(plain), await turn(holdfast), await turn(inMemory)]
      if (i < 10) continue // to warm up
      alone.plain.push(bare.firstMs)
      alone.durable.push(durable.firstMs)
      alone.inMemory.push(memory.firstMs)
    }
    Report.print(`Live path: HTTP in, provider on a socket, NDJSON out; ${AT_ONCE} turns at once of ${DELTAS} deltas`, [
      {
        what: "deltas a second",
        holdfast: Report.median(ours.map(({ perSecond }) => perSecond)),
        bare: Report.median(bare.map(({ perSecond }) => perSecond)),
        unit: "",
        aim: { atLeast: 0.9 }
      },
      {
        what: `time to first delta, ${AT_ONCE} at once`,
        holdfast: Report.median(ours.map(({ firstMs }) => firstMs)),
        bare: Report.median(bare.map(({ firstMs }) => firstMs)),
        unit: "ms",
        aim: { atMost: 1.5 }
      },
      {
        what: "time to first delta, alone",
        holdfast: Report.median(alone.durable),
        bare: Report.median(alone.plain),
        unit: "ms",
        aim: undefined
      },
      {
        what: "the same, durable against in memory",
        holdfast: Report.median(alone.durable),
        bare: Report.median(alone.inMemory),
        unit: "ms",
        aim: undefined
      }
    ])
    const later = Report.median(alone.durable) - Report.median(alone.inMemory)
    console.log(`  The disk costs the first delta ${later.toFixed(2)} ms at the median (aim: at most 1 ms).`)
    Report.print("The same with all of its telemetry, against Holdfast without", [
      {
        what: "deltas a second",
        holdfast: Report.median(told.map(({ perSecond }) => perSecond)),
        bare: Report.median(ours.map(({ perSecond }) => perSecond)),
        unit: "",
        aim: { atLeast: 0.9 }
      },
      {
        what: `time to first delta, ${AT_ONCE} at once`,
        holdfast: Report.median(told.map(({ firstMs }) => firstMs)),
        bare: Report.median(ours.map(({ firstMs }) => firstMs)),
        unit: "ms",
        aim: { atMost: 1.1 }
      }
    ])
  } finally {
    for (const child of children) child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
}

// --- internal

/** A server under test: what to post where, for one turn. */
interface Server {
  readonly port: number
  readonly path: () => Promise<string>
}

interface Round {
  readonly perSecond: number
  readonly firstMs: number
}

const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

const plainServer = (port: number): Server => ({ port, path: async () => "/" })

const holdfastServer = (port: number): Server => ({
  port,
  path: async () => {
    const answer = await post(port, "/v1/conversations", {}, () => {})
    return `/v1/conversations/${JSON.parse(answer).conversationId}/turns`
  }
})

const round = async (server: Server): Promise<Round> => {
  const paths = await Promise.all(Array.from({ length: AT_ONCE }, () => server.path()))
  const start = performance.now()
  const turns = await Promise.all(paths.map((path) => stream(server.port, path)))
  const seconds = (performance.now() - start) / 1_000
  const deltas = turns.reduce((sum, turn) => sum + turn.deltas, 0)
  if (deltas !== AT_ONCE * DELTAS) throw new Error(`${deltas} deltas came, ${AT_ONCE * DELTAS} were sent`)
  return { perSecond: deltas / seconds, firstMs: Report.median(turns.map(({ firstMs }) => firstMs)) }
}

const turn = async (server: Server) => stream(server.port, await server.path())

const NEEDLE = Buffer.from('"type":"text-delta"')
const WORD = Buffer.from(" word")

/** Posts a prompt and counts the provider's deltas, of which one event may have several, without taking them apart. */
const stream = async (port: number, path: string) => {
  const start = performance.now()
  let firstMs = NaN
  let deltas = 0
  let tail: Buffer = Buffer.alloc(0)
  await post(port, path, { prompt: "Go" }, (read) => {
    // A line may be cut by a read; its beginning stays for the next one.
    const chunk = tail.length === 0 ? read : Buffer.concat([tail, read])
    const end = chunk.lastIndexOf(10) + 1
    const lines = chunk.subarray(0, end)
    for (let at = lines.indexOf(NEEDLE); at >= 0; at = lines.indexOf(NEEDLE, lines.indexOf(10, at))) {
      deltas += countIn(lines.subarray(at, lines.indexOf(10, at)), WORD)
    }
    tail = chunk.subarray(end)
    if (deltas > 0 && Number.isNaN(firstMs)) firstMs = performance.now() - start
  })
  return { deltas, firstMs }
}

const countIn = (text: Buffer, word: Buffer): number => {
  let count = 0
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) count++
  return count
}

const post = (port: number, path: string, body: object, onRead: (read: Buffer) => void): Promise<string> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      accept: path.endsWith("/turns") || path === "/" ? "application/x-ndjson" : "application/json"
    }
    const outgoing = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      const small: Array<Buffer> = []
      response.on("data", (read: Buffer) => {
        if (headers.accept === "application/json") small.push(read)
        onRead(read)
      })
      response.on("end", () => resolve(Buffer.concat(small).toString()))
      response.on("error", reject)
    })
    outgoing.on("error", reject)
    outgoing.end(text)
  })

const firstMatch = (child: ChildProcess, pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let printed = ""
    child.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString()
      const found = pattern.exec(printed)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.on("exit", (code) => reject(new Error(`a process of the benchmark ended with ${code}: ${printed}`)))
  })
