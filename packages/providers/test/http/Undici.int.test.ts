import { assert, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Pull, Scope } from "effect"
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2"
import type { Server } from "node:net"
import { H2CClient } from "undici"
import { type HttpResponse, Broken, Http } from "../../src/http/Http.ts"
import * as Undici from "../../src/http/Undici.ts"
import { serve } from "../harness/Server.ts"

/** Posts an empty object; returns the response, in a scope that the test closes. */
const post = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const http = yield* Http
    const scope = yield* Scope.Scope
    return yield* http.endpoint(url, headers)("{}", scope)
  })

/** A body's text, pull by pull. */
const pulls = ({ bytes }: Pick<HttpResponse, "bytes">): Effect.Effect<ReadonlyArray<string>, Broken> =>
  Pull.matchEffect(bytes, {
    onSuccess: (reads) => Effect.map(pulls({ bytes }), (rest) => [Buffer.concat(reads).toString(), ...rest]),
    onFailure: Effect.failCause,
    onDone: () => Effect.succeed([])
  })

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

/** The controller that undici passes to a handler, for a test that calls the handler itself. */
class Controller {
  aborted = false
  paused = false
  reason = null
  written = 0
  abort(): void {
    this.aborted = true
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
  }
}

describe("Undici", () => {
  it.layer(Undici.layer)((it) => {
    it.effect("one read of the socket is one array, however many chunks it contains", () =>
      Effect.gen(function* () {
        const chunks = ["a", "b", "c"].map((chunk) => `1\r\n${chunk}\r\n`).join("")
        const url = yield* write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)
        const answer = yield* post(url)
        expect(answer.isWhole()).toBe(true)
        expect(yield* pulls(answer)).toEqual(["abc"])
      })
    )

    it.effect("informational responses are skipped, and a repeated header is joined", () =>
      Effect.gen(function* () {
        const url = yield* write(
          "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 529 Busy\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nno"
        )
        const answer = yield* post(url)
        expect(answer.status).toBe(529)
        expect(answer.headers).toMatchObject({ "x-a": "1, 2" })
        expect(yield* pulls(answer)).toEqual(["no"])
      })
    )

    it.effect("data before a broken connection is read before the failure", () =>
      Effect.gen(function* () {
        const server = yield* serve((response) => {
          response.write("half", () => setImmediate(() => response.socket?.destroy()))
        })
        const answer = yield* post(server.url)
        const read: Array<string> = []
        const exit = yield* Effect.exit(
          Effect.forever(
            Effect.map(answer.bytes, (reads) => read.push(Buffer.concat(reads).toString())),
            { disableYield: true }
          )
        )
        expect(read).toEqual(["half"])
        expect(Exit.isFailure(exit) && JSON.stringify(exit)).toContain("UND_ERR_SOCKET")
      })
    )

    it.effect("the buffer for a slow reader is bounded", () =>
      Effect.gen(function* () {
        const controller = new Controller()
        const http = Undici.make({
          dispatch: (_options, handler) => {
            handler.onRequestStart?.(controller, undefined)
            handler.onResponseStart?.(controller, 200, {})
            while (!controller.paused) {
              controller.written += 65_536
              handler.onResponseData?.(controller, Buffer.alloc(65_536))
            }
            return true
          }
        })
        const { bytes } = yield* http.endpoint("http://127.0.0.1/", {})("{}", yield* Scope.Scope)
        const reads = yield* bytes
        expect(Buffer.concat(reads).length).toBe(controller.written)
        expect(controller).toMatchObject({ paused: false, written: 5 * 65_536 })
      })
    )

    it.effect("a connection is reused after its body was read, and closed otherwise", () =>
      Effect.gen(function* () {
        const server = yield* serve((response, _request, n) => {
          if (n < 3) response.writeHead(503).end("busy")
          else response.write("never ends")
        })
        for (let n = 0; n < 2; n++) {
          yield* Effect.scoped(Effect.flatMap(post(server.url), pulls))
          // undici takes a connection back in a later turn of the event loop.
          yield* Effect.promise(() => new Promise(setImmediate))
        }
        expect(server.connections()).toBe(1)
        yield* Effect.scoped(post(server.url))
        yield* server.closed(3)
      })
    )

    it.effect("a call that is cancelled before its response closes its connection", () =>
      Effect.gen(function* () {
        const server = yield* serve(() => {})
        const fiber = yield* Effect.forkChild(Effect.scoped(post(server.url)))
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
          const broken = yield* Effect.flip(post(url, headers))
          expect(broken).toBeInstanceOf(Broken)
          expect(broken.cause).toMatchObject({ code })
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
          Effect.flatMap((answer) => Effect.map(pulls(answer), (body) => [answer.status, ...body])),
          Effect.scoped,
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
          () => Effect.scoped(Effect.map(post(server.url), ({ status }) => status)),
          { concurrency: "unbounded" }
        )
        expect(new Set(statuses)).toEqual(new Set([529]))
        expect(server.received.length).toBe(200)
      })
    )
  })
})
