/** An HTTP proxy on loopback that forwards all requests to one server, or rejects them. */
import { Effect, type Scope } from "effect"
import { once } from "node:events"
import * as Http from "node:http"
import * as Net from "node:net"
import type { AddressInfo, Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** `host:port` of each requested tunnel. */
  readonly tunnels: ReadonlyArray<string>
  /** The address of each request in absolute form. */
  readonly forwarded: ReadonlyArray<string>
}

/** Starts the proxy. With `refusal` it rejects every request with this status. */
export const proxy = (target: string, refusal?: number): Effect.Effect<Proxy, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const tunnels: Array<string> = []
        const forwarded: Array<string> = []
        const sockets = new Set<Socket>()
        const server = Http.createServer((request, response) => {
          forwarded.push(request.url ?? "")
          if (refusal !== undefined) return response.writeHead(refusal).end("refused")
          const { pathname } = new URL(request.url ?? "")
          const onward = Http.request(target + pathname, { method: request.method }, (answer) => {
            response.writeHead(answer.statusCode ?? 0, answer.headers)
            answer.pipe(response)
          })
          onward.on("error", () => response.destroy())
          return request.pipe(onward)
        })
        server.on("connection", (socket: Socket) => {
          sockets.add(socket)
          socket.on("error", () => {})
        })
        server.on("connect", (request: Http.IncomingMessage, socket: Socket) => {
          tunnels.push(request.url ?? "")
          if (refusal !== undefined) return socket.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`)
          const { hostname, port } = new URL(target)
          const onward = Net.connect(Number(port), hostname, () => {
            socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
            socket.pipe(onward).pipe(socket)
          })
          return onward.on("error", () => socket.destroy())
        })
        server.listen(0, "127.0.0.1")
        await once(server, "listening")
        return { server, sockets, tunnels, forwarded }
      }),
      ({ server, sockets }) =>
        Effect.sync(() => {
          server.close()
          for (const socket of sockets) socket.destroy()
        })
    ),
    ({ forwarded, server, tunnels }) => ({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      forwarded,
      tunnels
    })
  )
