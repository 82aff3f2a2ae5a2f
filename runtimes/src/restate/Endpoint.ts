/** The endpoint of the service in Restate: a model that follows the script that a prompt names, and tools. It counts what reaches it. */
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { within } from "../scenario/Deadline.ts"

/** What happened at the endpoint: a call of the model, or of a tool. */
export interface Arrival {
  readonly path: string
  readonly at: number
}

/** A running endpoint. */
export interface Endpoint {
  readonly url: string
  readonly arrivals: ReadonlyArray<Arrival>
  /** Resolves when as many requests have come to a path that fits. */
  readonly until: (path: RegExp, count: number) => Promise<void>
  readonly close: () => void
}

const text = (delta: string) => [
  { type: "text-delta", delta },
  { type: "finish", finishReason: "stop" }
]
const CALLS = [
  ...["pay", "look", "send"].map((toolName) => ({
    type: "tool-call",
    toolCallId: `call-${toolName}`,
    toolName,
    input: {}
  })),
  { type: "finish", finishReason: "tool-calls" }
]

/** The responses to a turn's calls, by script: a status, or events; `held` leaves the response open after them. */
const SCRIPTS: {
  readonly [script: string]: ReadonlyArray<{
    readonly status?: number
    readonly events?: unknown
    readonly held?: true
  }>
} = {
  tool: [{ events: CALLS }, { events: text("Done.") }],
  wait: [{ status: 503 }, { events: text("Done.") }],
  stream: [{ events: [{ type: "text-delta", delta: "Do" }], held: true }, { events: text("Done.") }]
}

/** Listens on a free port. */
export const listen = async (): Promise<Endpoint> => {
  const arrivals: Array<Arrival> = []
  const waiting = new Set<() => void>()
  const calls = new Map<string, number>()

  const answer = (path: string, response: ServerResponse): void => {
    const [, kind = "", name = "", turn = ""] = path.split("/")
    // Tools other than `look` never answer: their process dies first.
    if (kind === "tool") return void (name === "look" && response.end("seen"))
    const number = calls.get(turn) ?? 0
    calls.set(turn, number + 1)
    const { events = [], held = false, status = 200 } = SCRIPTS[name]?.[number] ?? { status: 500 }
    response.writeHead(status)
    const body = (events as ReadonlyArray<unknown>).map((event) => `${JSON.stringify(event)}\n`).join("")
    if (held) response.write(body)
    else response.end(body)
  }

  const server = createServer((request, response) => {
    request.resume()
    const path = request.url ?? ""
    arrivals.push({ path, at: Date.now() })
    answer(path, response)
    for (const check of waiting) check()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    until: (path, count) => {
      const reached = new Promise<void>((resolve) => {
        const check = () => {
          if (arrivals.filter((arrival) => path.test(arrival.path)).length < count) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      })
      return within(`${count} requests to ${path}`, reached)
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
