/** A provider that only writes: OpenAI's frames, made once, at full speed. Run as a process of its own; prints its port. */
import { createServer } from "node:http"

/** Deltas of one response. */
const DELTAS = Number(process.argv[2] ?? 5_000)
/** Deltas of one write: what a network that has caught up brings at once. */
const PER_WRITE = Number(process.argv[3] ?? 20)

const frame = (delta: string, finish: string | null) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_770_933_892,
    model: "bench",
    choices: [{ index: 0, delta: finish === null ? { content: delta } : {}, logprobs: null, finish_reason: finish }],
    usage: null
  })}\n\n`

const batch = Buffer.from(Array.from({ length: PER_WRITE }, (_, i) => frame(` word${i}`, null)).join(""))
const last = Buffer.from(`${frame("", "stop")}data: [DONE]\n\n`)

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    let left = DELTAS
    const write = (): void => {
      while (left > 0) {
        left -= PER_WRITE
        if (!response.write(batch)) {
          response.once("drain", write)
          return
        }
      }
      response.end(last)
    }
    write()
  })
})
// Other servers are measured between two rounds. With a short limit a connection could close just when it is used again.
server.keepAliveTimeout = 120_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
