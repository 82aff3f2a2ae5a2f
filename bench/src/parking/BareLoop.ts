/**
 * The bare limit of parks over HTTP: node:http accepts a prompt, undici calls the provider that fails, rows are inserted in groups.
 *
 * Run as a process of its own: `BareLoop.ts PROVIDER-PORT DATABASE`; prints its port. No turns, no history, no retries.
 *
 * | call | does |
 * |---|---|
 * | `POST /turns` | streams one line once the failure is on disk, and stays open; with `Prefer: respond-async` answers 202 once the prompt is on disk |
 * | `GET /metrics` | the number of turns that wait, as the service gives it |
 */
import { createServer, type ServerResponse } from "node:http"
import { Agent, type Dispatcher } from "undici"
import * as Commits from "../plain/Commits.ts"

const [port = "", file = ""] = process.argv.slice(2)

const agent = new Agent({ connections: null, pipelining: 1 })
const commits = Commits.open(file)
let waiting = 0

/** One call, whose outcome is put on disk. */
class Call implements Dispatcher.DispatchHandler {
  private readonly done: () => void
  private body = ""
  private status = 0

  constructor(done: () => void) {
    this.done = done
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number): void {
    this.status = status
  }

  onResponseData(_: unknown, chunk: Uint8Array): void {
    this.body += chunk.toString()
  }

  onResponseEnd(): void {
    const { error } = JSON.parse(this.body)
    const retryAt = Date.now() + 3_600_000
    commits.add("decision", JSON.stringify({ status: this.status, message: error.message, retryAt }), this.done)
  }

  onResponseError(): void {}
}

const call = (prompt: string, done: () => void): void => {
  agent.dispatch(
    {
      origin: `http://127.0.0.1:${port}`,
      path: "/v1/chat/completions",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ stream: true, messages: [{ role: "user", content: prompt }] })
    },
    new Call(done)
  )
}

const turn = (prompt: string, isAsync: boolean, outgoing: ServerResponse): void => {
  commits.add("prompt", prompt, () => {
    if (isAsync) outgoing.writeHead(202, { "content-type": "application/json" }).end('{"turnId":"t1"}')
  })
  call(prompt, () => {
    waiting++
    if (isAsync) return
    outgoing.writeHead(200, { "content-type": "application/x-ndjson" })
    outgoing.write(`${JSON.stringify({ type: "provider-retry", conversationId: "c1", turnId: "t1", attempt: 0 })}\n`)
  })
}

const server = createServer((incoming, outgoing) => {
  if (incoming.method === "GET") return void outgoing.end(`holdfast_turns{status="retrying"} ${waiting}\n`)
  const body: Array<Buffer> = []
  incoming.on("data", (chunk: Buffer) => body.push(chunk))
  incoming.on("end", () => {
    const { prompt } = JSON.parse(Buffer.concat(body).toString())
    turn(prompt, incoming.headers["prefer"] === "respond-async", outgoing)
  })
})
server.keepAliveTimeout = 120_000
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
