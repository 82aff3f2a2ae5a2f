import { assert, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2"
import type { Server } from "node:net"
import { H2CClient } from "undici"
import { Http } from "../../src/http/Http.ts"
import * as Undici from "../../src/http/Undici.ts"
import * as Posted from "../harness/Posted.ts"
import { serve } from "../harness/Server.ts"

const post = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.flatMap(Http, (http) => Posted.post(http, url, headers))

const urlOf = (server: Pick<Server, "address">): string => {
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`
}

/** A server that sends these bytes in one write to every client. */
const write = (text: string) =>
  Effect.map(
    serve((response) => response.socket?.write(text)),
    ({ url }) => url
  )

describe("Undici", () => {
  it.layer(Undici.layer)((it) => {
    it.effect("informational responses are skipped, and a repeated header is joined", () =>
      Effect.gen(function* () {
        const url = yield* write(
          "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 529 Busy\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nno"
        )
        const answer = yield* post(url)
        expect(answer.status).toBe(529)
        expect(answer.headers).toMatchObject({ "x-a": "1, 2" })
        expect(answer.body).toBe("no")
      })
    )

    it.effect("a connection that breaks in the body fails with its error", () =>
      Effect.gen(function* () {
        const server = yield* serve((response) => {
          response.write("half", () => setImmediate(() => response.socket?.destroy()))
        })
        expect(yield* Effect.flip(post(server.url))).toMatchObject({ code: "UND_ERR_SOCKET" })
      })
    )

    it.effect("a connection is reused after its body was read, and closed otherwise", () =>
      Effect.gen(function* () {
        const server = yield* serve((response, _request, n) => {
          if (n < 3) response.writeHead(503).end("busy")
          else response.write("never ends")
        })
        for (let n = 0; n < 2; n++) {
          yield* post(server.url)
          // undici takes a connection back in later turns of the event loop.
          for (let turn = 0; turn < 3; turn++) yield* Effect.promise(() => new Promise(setImmediate))
        }
        expect(server.connections()).toBe(1)
        const fiber = yield* Effect.forkChild(post(server.url))
        yield* server.arrived(3)
        yield* Fiber.interrupt(fiber)
        yield* server.closed(3)
      })
    )

    it.effect("a call that is cancelled before its response closes its connection", () =>
      Effect.gen(function* () {
        const server = yield* serve(() => {})
        const fiber = yield* Effect.forkChild(post(server.url))
        yield* server.arrived(1)
        yield* Fiber.interrupt(fiber)
        yield* server.closed(1)
      })
    )

    it.effect("an invalid URL and an invalid header fail the call only", () =>
      Effect.gen(function* () {
        for (const [url, headers, code] of [
          ["nowhere", {}, "ERR_INVALID_URL"],
          ["http://127.0.0.1:9/", { "x-a": "a\nb" }, "UND_ERR_INVALID_ARG"]
        ] as const) {
          expect(yield* Effect.flip(post(url, headers))).toMatchObject({ code })
        }
      })
    )

    it.effect("over HTTP/2 calls share connections, and cancelling one leaves the others running", () =>
      Effect.gen(function* () {
        let connections = 0
        const held: Array<ServerHttp2Stream> = []
        const arrived = yield* Deferred.make<void>()
        const closed = yield* Deferred.make<void>()
        const server = createHttp2Server({ settings: { maxConcurrentStreams: 100 } })
        server.on("session", () => connections++)
        server.on("stream", (stream) => {
          stream.on("error", () => {})
          // No stream has a response yet, so only the cancelled one can close.
          stream.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
          held.push(stream)
          if (held.length === 50) Deferred.doneUnsafe(arrived, Effect.void)
        })
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => {
            server.listen(0, "127.0.0.1", () => resume(Effect.void))
          }),
          () => Effect.sync(() => server.close())
        )
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new H2CClient(urlOf(server), { pipelining: 100, maxConcurrentStreams: 100 })),
          (agent) => Effect.promise(() => agent.destroy())
        )
        const call = post(urlOf(server)).pipe(
          Effect.map(({ body, status }) => [status, body]),
          Effect.provideService(Http, Undici.make(agent))
        )
        const fibers = yield* Effect.forEach(Array.from({ length: 50 }), () => Effect.forkChild(call))
        yield* Deferred.await(arrived)
        const [abandoned = assert.fail()] = fibers.splice(7, 1)
        yield* Fiber.interrupt(abandoned)
        yield* Deferred.await(closed)
        for (const stream of held) {
          if (stream.destroyed) continue
          stream.respond({ ":status": 529 })
          stream.end("busy")
        }
        for (const fiber of fibers) expect(yield* Fiber.join(fiber)).toEqual([529, "busy"])
        expect(connections).toBe(1)
      })
    )

    it.effect("rule C9: two hundred calls at once are two hundred requests, and none waits for another", () =>
      Effect.gen(function* () {
        const held: Array<() => void> = []
        const server = yield* serve((response) => {
          held.push(() => response.writeHead(529).end("busy"))
          // Responses are sent only after all requests have arrived.
          if (held.length === 200) for (const answer of held) answer()
        })
        const statuses = yield* Effect.forEach(
          Array.from({ length: 200 }),
          () => Effect.map(post(server.url), ({ status }) => status),
          { concurrency: "unbounded" }
        )
        expect(new Set(statuses)).toEqual(new Set([529]))
        expect(server.received.length).toBe(200)
      })
    )
  })
})
