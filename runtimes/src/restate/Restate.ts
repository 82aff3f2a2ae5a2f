/**
 * Turns in Restate whose process is killed: in tools, in waits and in streams.
 *
 * The server and the SDK come from the npm registry. A kill is `kill -9` of the process of the service; the server lives on.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import * as Ports from "../../../tools/src/acceptance/Ports.ts"
import type { Check } from "../../../tools/src/acceptance/Report.ts"
import { DEADLINE_MS, within } from "../scenario/Deadline.ts"
import * as Endpoint from "./Endpoint.ts"

/** Tries until it succeeds; a server that starts is asked again and again. */
const eventually = async <A>(attempt: () => Promise<A>): Promise<A> => {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** A process of the service, and what it prints. */
class Service {
  readonly lines: Array<string> = []
  private readonly start: () => ChildProcess
  private readonly waiting = new Set<() => void>()
  private child: ChildProcess | undefined

  constructor(start: () => ChildProcess) {
    this.start = start
  }

  async begin(): Promise<void> {
    const child = (this.child = this.start())
    const from = this.lines.length
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface(stream).on("line", (line) => {
        this.lines.push(line)
        for (const check of this.waiting) check()
      })
    }
    await this.until((line) => line.includes("listening"), from)
  }

  /** Resolves with the first line that fits, from a place on. */
  until(fits: (line: string) => boolean, from = 0): Promise<string> {
    const printed = new Promise<string>((resolve) => {
      const check = () => {
        const found = this.lines.slice(from).find(fits)
        if (found === undefined) return
        this.waiting.delete(check)
        resolve(found)
      }
      this.waiting.add(check)
      check()
    })
    return within(`a line of the service, after ${this.lines.slice(-5).join(", ")}`, printed)
  }

  async kill(): Promise<void> {
    const { child } = this
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill("SIGKILL")
    await once(child, "exit")
  }
}

/** A wait whose process was killed; times in epoch milliseconds. */
interface Wait {
  readonly retryAt: number
  /** What the engine was asked for. */
  readonly asked: ReadonlyArray<number>
  readonly calledAt: number
}

/** The engine has slept once, up to the time that the event named, and the call came after that. */
const isKept = ({ asked: [wakeAt = NaN, ...more], calledAt, retryAt }: Wait): boolean =>
  more.length === 0 && wakeAt >= retryAt && calledAt >= wakeAt

const rangeOf = (values: ReadonlyArray<number>): string => `${Math.min(...values)} to ${Math.max(...values)}`

/** Shows that turns survive `kills` deaths of each kind. */
export const run = async (
  project: string,
  program: string,
  node: string,
  kills: number,
  check: Check
): Promise<void> => {
  const [ingress, admin, fabric, port] = await Promise.all([Ports.free(), Ports.free(), Ports.free(), Ports.free()])
  const server = spawn(
    join(project, `node_modules/@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`),
    ["--no-logo", "--listen-mode", "tcp"],
    {
      cwd: project,
      stdio: "ignore",
      env: {
        ...process.env,
        DO_NOT_TRACK: "1",
        RESTATE_DISABLE_TELEMETRY: "true",
        RESTATE_BASE_DIR: join(project, "restate-data"),
        RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`
      }
    }
  )
  const endpoint = await Endpoint.listen()
  const service = new Service(() =>
    spawn(node, [program, `${port}`, endpoint.url], {
      cwd: project,
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  const post = async (url: string, body: unknown, headers = {}, method = "POST"): Promise<unknown> => {
    const response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(DEADLINE_MS),
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
    return response.status === 202 ? undefined : response.json()
  }
  const ask = (script: string) =>
    post(`http://127.0.0.1:${ingress}/agent/ask`, script) as Promise<{ readonly status: string; readonly text: string }>
  const rows = async (query: string) =>
    (
      (await post(`http://127.0.0.1:${admin}/query`, { query })) as {
        readonly rows: ReadonlyArray<{ readonly [name: string]: unknown }>
      }
    ).rows
  /** The times at which the engine was asked to wake a turn, by its journal. */
  const sleepsOf = async (turn: string): Promise<ReadonlyArray<number>> =>
    (
      await rows(
        `SELECT entry_json FROM sys_journal WHERE id = '${turn}' AND entry_type = 'Command: Sleep' ORDER BY index`
      )
    ).map((row) => JSON.parse(String(row["entry_json"])).Command.Sleep.wake_up_time)

  try {
    await service.begin()
    await eventually(() =>
      post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${port}`, use_http_11: false })
    )

    const problems: { readonly [script: string]: Array<string> } = { tool: [], wait: [], stream: [] }
    const waits: Array<Wait> = []
    const REACHED: { readonly [script: string]: readonly [path: RegExp, requests: number] } = {
      tool: [/^\/tool\//, 3],
      wait: [/^\/model\/wait\//, 1],
      stream: [/^\/model\/stream\//, 1]
    }
    for (const [script, found] of Object.entries(problems)) {
      for (let n = 0; n < kills; n++) {
        const [path, requests] = REACHED[script] ?? [/./, 0]
        const [before, from] = [endpoint.arrivals.length, service.lines.length]
        const seen = endpoint.arrivals.filter((arrival) => path.test(arrival.path)).length
        const result = ask(script)
        await endpoint.until(path, seen + requests)
        const waiting = script === "wait" ? await service.until((line) => line.startsWith("waiting"), from) : ""
        await service.kill()
        await service.begin()
        const { status, text } = await result
        const arrivals = endpoint.arrivals.slice(before)
        if (status !== "completed" || text !== "Done.") found.push(`kill ${n}: ${status}, ${text}`)
        for (const name of ["pay", "send"]) {
          const runs = arrivals.filter((arrival) => arrival.path.startsWith(`/tool/${name}/`)).length
          if (runs !== (script === "tool" ? 1 : 0)) found.push(`kill ${n}: ${name} ran ${runs} times`)
        }
        const calls = arrivals.filter((arrival) => arrival.path.startsWith("/model/"))
        if (calls.length !== 2) found.push(`kill ${n}: ${calls.length} calls of the model`)
        if (script !== "wait") continue
        const [, turn = "", retryAt] = waiting.split(" ")
        waits.push({ retryAt: Number(retryAt), asked: await sleepsOf(turn), calledAt: calls[1]?.at ?? NaN })
      }
    }
    const said = (script: string) => (problems[script]?.length === 0 ? undefined : problems[script]?.join("\n"))
    check(`Restate: ${kills} kills in tools, and none that is not idempotent ran twice`, said("tool"))
    check(`Restate: ${kills} kills in waits, and each turn was answered`, said("wait"))
    check(`Restate: ${kills} kills in streams, and each turn was answered once`, said("stream"))
    check(
      `Restate: ${kills} kills in waits, and each wait was one sleep of the engine, with no call before its time`,
      waits.every(isKept) ? undefined : JSON.stringify(waits)
    )
    // Not checked: on a busy machine the process and the engine's retries of its connection may be late by any time.
    console.log(`Restate: waits ended ${rangeOf(waits.map(({ calledAt, retryAt }) => calledAt - retryAt))} ms late`)

    const asked = ask("wait")
    const from = service.lines.length
    const [, id = ""] = (await service.until((line) => line.startsWith("waiting"), from)).split(" ")
    const suspended = eventually(async () => {
      const [row] = await rows(`SELECT status FROM sys_invocation WHERE id = '${id}'`)
      if (row?.["status"] !== "suspended") throw new Error(`it is ${String(row?.["status"])}`)
    })
    const outcome = await Promise.race([suspended.then(() => "suspended"), asked.then(({ status }) => status)])
    check("Restate: a long wait suspends", outcome === "suspended" ? undefined : `the turn was ${outcome} first`)
    const { status } = await asked
    check("Restate: a suspended turn is resumed by its timer", status === "completed" ? undefined : status)

    const cancelled = ask("wait")
    const place = service.lines.length
    const [, cancelledId = ""] = (await service.until((line) => line.startsWith("waiting"), place)).split(" ")
    await post(`http://127.0.0.1:${admin}/invocations/${cancelledId}/cancel`, undefined, {}, "PATCH")
    const { status: ended } = await cancelled
    check("Restate: a cancelled invocation aborts its turn", ended === "aborted" ? undefined : ended)

    const failures = await rows("SELECT id, status, last_failure, last_failure_error_code FROM sys_invocation")
    const mismatches = [
      ...failures.filter((row) => row["last_failure_error_code"] === "RT0016").map((row) => JSON.stringify(row)),
      ...service.lines.filter((line) => /RT0016|mismatch/i.test(line))
    ]
    check(
      "Restate: no run of a turn contradicted its journal",
      mismatches.length === 0 ? undefined : mismatches.join("\n")
    )
  } finally {
    await service.kill()
    server.kill("SIGKILL")
    endpoint.close()
  }
}
