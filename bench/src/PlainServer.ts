/**
 * The bare limit: node:http in, one request by undici to the provider, its SSE taken apart, NDJSON out. No turns, no retries.
 *
 * Run as a process of its own: `PlainServer.ts KIND PROVIDER-PORT [DATABASE]`; prints its port.
 *
 * PlainServer.P1. However many chunks one read of the provider's socket brings, the client gets one write.
 * PlainServer.P2. A `raw-durable` turn calls the provider before its prompt is committed; nothing of the answer leaves before the
 *     prompt and the mark are on disk. Turns that commit in the same pass of the event loop share one commit.
 */
import { createServer, type ServerResponse } from "node:http"
import { StringDecoder } from "node:string_decoder"
import { Agent, type Dispatcher } from "undici"
import * as Commits from "./plain/Commits.ts"
import * as Frames from "./plain/Frames.ts"

/**
 * The kinds:
 *
 * | kind | does |
 * |---|---|
 * | `raw-parse` | parses each frame with `JSON.parse`, and writes its delta with `JSON.stringify` |
 * | `raw-template` | cuts the delta's JSON string out of the frame by what stands around it, and splices it into the outgoing line |
 * | `raw-durable` | `raw-parse` with the three commits that a durable turn needs: the prompt, a mark before the first delta leaves, the answer |
 */
const [kind = "", port = "", file = ""] = process.argv.slice(2)

const agent = new Agent({ connections: null, pipelining: 1 })
const commits = kind === "raw-durable" ? Commits.open(file) : undefined
const makeReader = kind === "raw-template" ? Frames.template : Frames.parse

/** One turn: reads the provider's answer, and writes it out. */
class Turn implements Dispatcher.DispatchHandler {
  private readonly outgoing: ServerResponse
  private readonly read = makeReader()
  private readonly decoder = new StringDecoder("utf8")
  private text = ""
  private isScheduled = false
  private isMarked = false
  private isOnDisk = commits === undefined
  private held = ""
  private answer = ""

  constructor(outgoing: ServerResponse) {
    this.outgoing = outgoing
  }

  // undici takes a handler without it for one of its former shape.
  onRequestStart(): void {}

  onResponseStart(): void {
    this.outgoing.writeHead(200, { "content-type": "application/x-ndjson" })
  }

  onResponseData(_: unknown, chunk: Uint8Array): void {
    this.text += this.decoder.write(chunk as Buffer) // undici reads with Buffers
    if (this.isScheduled) return
    this.isScheduled = true
    queueMicrotask(this.flush) // P1: behind the last chunk of the read
  }

  onResponseEnd(): void {
    this.flush()
    if (commits === undefined) this.outgoing.end(END)
    else commits.add("answer", this.answer, () => this.outgoing.end(END))
  }

  onResponseError(_: unknown, error: Error): void {
    this.outgoing.destroy(error)
  }

  private readonly flush = (): void => {
    this.isScheduled = false
    const lines = this.read(this.text)
    this.text = ""
    if (lines === "") return
    if (commits !== undefined) this.answer += lines
    if (this.isOnDisk) this.outgoing.write(lines)
    else this.hold(lines)
  }

  /** PlainServer.P2. Commits keep the order in which they were asked for. */
  private hold(lines: string): void {
    this.held += lines
    if (this.isMarked) return
    this.isMarked = true
    commits?.add("content", "", () => {
      this.isOnDisk = true
      this.outgoing.write(this.held)
      this.held = ""
    })
  }
}

const END = `${JSON.stringify({ type: "turn-end", status: "completed" })}\n`

const server = createServer((incoming, outgoing) => {
  const body: Array<Buffer> = []
  incoming.on("data", (chunk: Buffer) => body.push(chunk))
  incoming.on("end", () => {
    const { manner, prompt } = JSON.parse(Buffer.concat(body).toString())
    agent.dispatch(
      {
        origin: `http://127.0.0.1:${port}`,
        path: `/${manner}/v1/chat/completions`,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ stream: true, messages: [{ role: "user", content: prompt }] }),
        headersTimeout: 0,
        bodyTimeout: 0
      },
      new Turn(outgoing)
    )
    commits?.add("prompt", prompt, () => {})
  })
})
// Other servers are measured between two rounds. With a short limit a connection could close just when it is used again.
server.keepAliveTimeout = 120_000
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
