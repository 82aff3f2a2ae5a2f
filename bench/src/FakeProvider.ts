/**
 * A provider that only writes: OpenAI's frames, made once. Run as a process of its own; prints its port.
 *
 * The path's first segment gives the manner of its answers: `/deltas=500&chunk=1&every=20/v1/chat/completions`.
 *
 * | name | default | |
 * |---|---|---|
 * | `deltas` | 5000 | deltas of one answer |
 * | `chunk` | 1 | deltas of one chunk: providers send one event a chunk; a proxy or a busy sender joins several |
 * | `every` | 0 | milliseconds from delta to delta, whose text then has its moment (`process.hrtime`); 0 is as fast as they are read |
 *
 * SIGUSR2 ends all answers under way, each with its last frames.
 */
import { createServer, type ServerResponse } from "node:http"

const frame = (delta: string, finish: string | null) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion.chunk",
    created: 1_770_933_892,
    model: "bench",
    choices: [{ index: 0, delta: finish === null ? { content: delta } : {}, logprobs: null, finish_reason: finish }],
    usage: null
  })}\n\n`

const WORDS = 20
const frames = Array.from({ length: WORDS }, (_, i) => frame(` word${i}`, null))
const last = Buffer.from(`${frame("", "stop")}data: [DONE]\n\n`)

/** Chunks of so many deltas, which an answer sends in turn. */
const chunksOf = (size: number): ReadonlyArray<Buffer> =>
  Array.from({ length: Math.max(1, WORDS / size) }, (_, n) =>
    Buffer.from(Array.from({ length: size }, (_, i) => frames[(n * size + i) % WORDS]).join(""))
  )

const made = new Map<number, ReadonlyArray<Buffer>>()

const underWay = new Set<ServerResponse>()

const answer = (response: ServerResponse, manner: URLSearchParams): void => {
  const deltas = Number(manner.get("deltas") ?? 5_000)
  const size = Number(manner.get("chunk") ?? 1)
  const everyMs = Number(manner.get("every") ?? 0)
  const chunks = made.get(size) ?? chunksOf(size)
  made.set(size, chunks)
  let sent = 0
  const pour = (): void => {
    for (; sent < deltas; sent += size) {
      if (response.writableNeedDrain) return void response.once("drain", pour)
      response.write(chunks[(sent / size) % chunks.length])
    }
    response.end(last)
  }
  const pace = (): void => {
    if (response.writableEnded || response.destroyed) return
    if (sent >= deltas) return void response.end(last)
    // With the moment at which it leaves.
    response.write(frame(` word${process.hrtime.bigint()}`, null))
    sent += size
    // The streams of a crowd do not send in step.
    setTimeout(pace, sent === size ? Math.random() * everyMs : everyMs)
  }
  if (everyMs === 0) pour()
  else pace()
}

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    underWay.add(response)
    response.on("close", () => underWay.delete(response))
    answer(response, new URLSearchParams(request.url?.split("/")[1]))
  })
})
process.on("SIGUSR2", () => {
  for (const response of underWay) response.end(last)
})
// Other servers are measured between two rounds. With a short limit a connection could close just when it is used again.
server.keepAliveTimeout = 120_000
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
  const address = server.address()
  console.log(typeof address === "object" ? address?.port : address)
})
