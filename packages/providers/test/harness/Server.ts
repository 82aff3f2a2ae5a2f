/** A provider on a real socket, with a test's handler and a count of requests. */
import { Effect, type Scope } from "effect"
import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { text as read } from "node:stream/consumers"

export interface Received {
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
}

export interface Server {
  readonly url: string
  /** Every request, in order of arrival. */
  readonly received: ReadonlyArray<Received>
  /** Resolves when the nth request (from 1) has arrived. */
  readonly arrived: (n: number) => Effect.Effect<void>
  /** Resolves when the socket of the nth request (from 1) has closed. */
  readonly closed: (n: number) => Effect.Effect<void>
  readonly connections: () => number
}

export type Handler = (response: Http.ServerResponse, request: Received, n: number) => void

/** Starts a server on a free port of the loopback interface; it closes with the scope, and so do its sockets. */
export const serve = (handler: Handler): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const received: Array<Received> = []
      const sockets: Array<Socket> = []
      const waiting: Array<() => void> = []
      let connections = 0
      const server = Http.createServer(async (request, response) => {
        const body = await read(request).catch(() => undefined)
        // The client left before it had sent everything.
        if (body === undefined) return
        const seen = { url: request.url ?? "", headers: request.headers, body }
        received.push(seen)
        sockets.push(request.socket)
        for (const wake of waiting.splice(0)) wake()
        handler(response, seen, received.length)
      })
      server.on("connection", () => {
        connections++
      })
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const until = async (isTrue: () => boolean) => {
        while (!isTrue()) await new Promise<void>((resolve) => waiting.push(resolve))
      }
      return {
        server,
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        received,
        arrived: (n: number) => Effect.promise(() => until(() => received.length >= n)),
        closed: (n: number) =>
          Effect.promise(async () => {
            await until(() => received.length >= n)
            const socket = sockets[n - 1]
            if (socket === undefined || socket.destroyed) return
            // Not `once` of node:events, which throws the socket's error.
            await new Promise<void>((resolve) => socket.once("close", () => resolve()))
          }),
        connections: () => connections
      }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )

export const SSE = { "content-type": "text/event-stream" }

/** Responds with a stream of these pieces, each in its own write. */
export const pieces =
  (all: ReadonlyArray<string | Uint8Array>): Handler =>
  async (response) => {
    response.writeHead(200, SSE)
    response.socket?.setNoDelay(true)
    for (const piece of all) {
      response.write(piece)
      await new Promise(setImmediate)
    }
    response.end()
  }

/** Responds with these pieces, and then cuts the connection without ending the body. */
export const cut =
  (all: ReadonlyArray<string | Uint8Array>): Handler =>
  (response) => {
    response.writeHead(200, SSE)
    for (const piece of all) response.write(piece)
    // After the last write has left; a socket that is destroyed earlier loses it.
    response.write("", () => setImmediate(() => response.socket?.destroy()))
  }

/** Responds with these pieces and keeps the connection open. */
export const hang =
  (all: ReadonlyArray<string>): Handler =>
  (response) => {
    response.writeHead(200, SSE)
    response.flushHeaders()
    for (const piece of all) response.write(piece)
  }
