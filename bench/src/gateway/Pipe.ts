/** The bare limit: a proxy of two pipes, `Pipe.ts ENDPOINT-PORT`. Prints its port. */
import { Agent, createServer, request as send } from "node:http"
import type { AddressInfo } from "node:net"

const [port] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })

const server = createServer((request, response) => {
  const { headers, method, url } = request
  const upstream = send({ agent, port, host: "127.0.0.1", method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  request.pipe(upstream)
})
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port)) // it listens on a port
