/** An endpoint that streams chat completions as fast as they are read; the model's name has the number of deltas. Prints its port. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const DELTA = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: " word" }, finish_reason: null }] })}\n\n`
const END = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`

/** Deltas of one write: what a model's server sends together when it is fast. */
const TOGETHER = 4

const server = createServer((request, response) => {
  let body = ""
  request.on("data", (piece: Buffer) => (body += piece.toString()))
  request.on("end", () => {
    let left = Number(/"model":"(\d+)"/.exec(body)?.[1] ?? 1)
    response.writeHead(200, { "content-type": "text/event-stream" })
    const more = (): void => {
      while (left > 0) {
        const count = Math.min(left, TOGETHER)
        left -= count
        if (!response.write(DELTA.repeat(count))) return void response.once("drain", more)
      }
      response.end(END)
    }
    more()
  })
})
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)) // it listens on a port
