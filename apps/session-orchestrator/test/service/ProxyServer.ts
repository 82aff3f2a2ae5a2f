/**
 * Serves an HTTP proxy on loopback, and TLS before a provider, as in a company.
 *
 * The proxy resolves names by itself, so a name that resolves nowhere else proves that a request went through it.
 */
import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import * as tls from "node:tls"

/** Certificate and key of `provider.test`; made for these tests, and valid until 2126. */
const fixture = (name: string): string => path.join(import.meta.dirname, "tls", name)
export const CERTIFICATE_FILE = fixture("certificate.pem")

export interface Options {
  /** Names that the proxy resolves, with their ports on loopback. */
  readonly hosts: Readonly<Record<string, number>>
  /** `user:password` that it requires. */
  readonly credentials?: string
}

export interface ProxyServer {
  readonly port: number
  /** `host:port` of every requested tunnel. */
  readonly tunnels: () => ReadonlyArray<string>
  /** The address of every request in absolute form. */
  readonly forwarded: () => ReadonlyArray<string>
}

/** Listens until the scope closes. */
export const start = Effect.fnUntraced(function* ({
  credentials,
  hosts
}: Options): Effect.fn.Return<ProxyServer, never, Scope.Scope> {
  const tunnels: Array<string> = []
  const forwarded: Array<string> = []
  const isAllowed = ({ headers }: http.IncomingMessage): boolean =>
    credentials === undefined ||
    headers["proxy-authorization"] === `Basic ${Buffer.from(credentials).toString("base64")}`
  const server = http.createServer((request, response) => {
    forwarded.push(request.url ?? "")
    const url = new URL(request.url ?? "")
    if (!isAllowed(request)) {
      response.writeHead(407, { "proxy-authenticate": "Basic" }).end("Who are you?")
      return
    }
    const { "proxy-authorization": _, ...headers } = request.headers
    const port = hosts[url.hostname] ?? Number(url.port)
    const onward = http.request(
      { host: "127.0.0.1", port, method: request.method, path: url.pathname + url.search, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        answer.once("error", () => response.destroy())
      }
    )
    onward.once("error", () => response.destroy())
    response.once("close", () => onward.destroy())
    request.pipe(onward)
  })
  server.on("connect", (request: http.IncomingMessage, socket: net.Socket) => {
    tunnels.push(request.url ?? "")
    socket.on("error", () => {})
    if (!isAllowed(request)) return socket.end("HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n")
    const { hostname } = new URL(`http://${request.url}`)
    const onward = net.connect(hosts[hostname] ?? 1, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
      bound(socket, onward)
    })
    return onward.once("error", () => socket.destroy())
  })
  return { port: yield* listening(server), tunnels: () => tunnels, forwarded: () => forwarded }
})

/** Terminates TLS for `provider.test` before a port on loopback; returns its own port. */
export const startTls = (port: number): Effect.Effect<number, never, Scope.Scope> =>
  listening(
    tls.createServer(
      {
        key: fs.readFileSync(fixture("key.pem")),
        cert: fs.readFileSync(CERTIFICATE_FILE),
        ALPNProtocols: ["http/1.1"]
      },
      (socket) => bound(socket, net.connect(port, "127.0.0.1"))
    )
  )

// --- internal

/** Joins two sockets: an end or error on one side reaches the other. */
const bound = (a: net.Socket, b: net.Socket): void => {
  for (const [from, to] of [
    [a, b],
    [b, a]
  ] as const) {
    from.pipe(to)
    from.on("error", () => to.destroy())
    from.once("close", () => to.destroy())
  }
}

const listening = (server: net.Server): Effect.Effect<number, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Set<net.Socket>>((resume) => {
        const sockets = new Set<net.Socket>()
        server.on("connection", (socket: net.Socket) => {
          sockets.add(socket)
          socket.once("close", () => sockets.delete(socket))
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(sockets)))
      }),
      (sockets) =>
        Effect.callback<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    ),
    () => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    }
  )
