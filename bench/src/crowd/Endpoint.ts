/**
 * An endpoint of a world, `Endpoint.ts WORLD-AS-JSON`. Prints its port.
 *
 * The chance of a call is a function of the member of the crowd and of the number of its call: each way to wait meets the same luck. `GET /log` has
 * the calls so far.
 */
import { createHash } from "node:crypto"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { World } from "./World.ts"

/** A call. Times are in milliseconds after the first one. */
export interface Logged {
  readonly at: number
  readonly member: number
  /** The end of its answer; 0: it was refused, or is not at its end. */
  answeredAt: number
}

const REFUSAL = JSON.stringify({ error: { message: "Overloaded", type: "overloaded_error" } })
const CONTENT = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }] })}\n\n`
const END = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`

// It is this program's parent that writes it.
const world = JSON.parse(process.argv[2] ?? "{}") as World
const calls: Array<Logged> = []
const made = new Map<number, number>()
let busy = 0
let openedAt = 0

const isAnswered = (member: number, at: number): boolean => {
  const call = (made.get(member) ?? 0) + 1
  made.set(member, call)
  if ((world.hasPoison && member === 0) || at < world.downMs || busy >= world.room) return false
  const chance = createHash("sha256").update(`${member} ${call}`).digest().readUInt32BE() / 2 ** 32
  return chance * 100 < world.percent
}

const answer = (response: ServerResponse, member: number): void => {
  if (calls.length === 0) openedAt = performance.now()
  const call: Logged = { at: performance.now() - openedAt, member, answeredAt: 0 }
  calls.push(call)
  if (!isAnswered(member, call.at)) {
    setTimeout(() => response.writeHead(529, { "content-type": "application/json" }).end(REFUSAL), world.latencyMs)
    return
  }
  busy++
  setTimeout(() => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(CONTENT)
    setTimeout(() => {
      busy--
      call.answeredAt = performance.now() - openedAt
      response.end(END)
    }, world.serviceMs - world.latencyMs)
  }, world.latencyMs)
}

const server = createServer((request, response) => {
  if (request.url === "/log") return void response.end(JSON.stringify(calls))
  let body = ""
  request.on("data", (piece: Buffer) => (body += piece.toString()))
  request.on("end", () => answer(response, Number(/crowd (\d+)/.exec(body)?.[1] ?? -1)))
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => console.log((server.address() as AddressInfo).port)) // it listens on a port
