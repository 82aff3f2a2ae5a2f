/**
 * A provider that attacks, as a process of its own; prints its port. The path's first segment names the attack:
 * `endless-answer`, `endless-call`, `big-errors`, `short-answer` or `long-answer`.
 */
import { createServer, type ServerResponse } from "node:http"

const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta }] })}\n\n`

/** Of one write: as much as a read of the service brings. */
const BATCH = 200

const answer = Buffer.from(chunk({ content: "word after word " }).repeat(BATCH))
const call = (id: string | undefined, text: string) =>
  chunk({
    tool_calls: [{ index: 0, ...(id === undefined ? {} : { id }), function: { name: id && "add", arguments: text } }]
  })
const openCall = Buffer.from(call("call-1", '{"a":"'))
const more = Buffer.from(call(undefined, "argument after argument ").repeat(BATCH))
const page = Buffer.alloc(10 * 1024 * 1024, "<p>Something went wrong.</p>\n")

/** Writes as fast as the service reads, `times` times or without end. */
const pour = (response: ServerResponse, batch: Buffer, times = Infinity): void => {
  let left = times
  const write = (): void => {
    while (left-- > 0) {
      if (response.destroyed) return
      if (!response.write(batch)) return void response.once("drain", write)
    }
    response.end("data: [DONE]\n\n")
  }
  write()
}

/** Batches of a long answer: 2,000 slow readers of it are sent some gigabytes. */
const LONG = 100

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    const attack = request.url?.split("/")[1] ?? ""
    if (attack === "big-errors") {
      response.writeHead(500, { "content-type": "text/html" })
      response.end(page)
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (attack === "short-answer") {
      response.end(`${chunk({ content: "word" })}data: [DONE]\n\n`)
      return
    }
    if (attack === "endless-call") {
      response.write(openCall)
      pour(response, more)
    } else {
      pour(response, answer, attack === "long-answer" ? LONG : Infinity)
    }
  })
})
server.keepAliveTimeout = 120_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
