/** An endpoint that is down: every call gets a 503. Prints its port. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const BODY = JSON.stringify({ error: { message: "Service unavailable", type: "server_error" } })

const server = createServer((request, response) => {
  request.resume()
  response.writeHead(503, { "content-type": "application/json" }).end(BODY)
})
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)) // it listens on a port
