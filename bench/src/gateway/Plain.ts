/** A plain server that reads a call's body, keeps it, and never answers: what a held connection costs at least. Prints its port. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const held = new Set<{ request: IncomingMessage; response: ServerResponse; body: Buffer }>()

const server = createServer((request, response) => {
  const pieces: Array<Buffer> = []
  request.on("data", (piece: Buffer) => pieces.push(piece))
  request.on("end", () => {
    const call = { request, response, body: Buffer.concat(pieces) }
    held.add(call)
    response.on("close", () => held.delete(call))
  })
})
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)) // it listens on a port
