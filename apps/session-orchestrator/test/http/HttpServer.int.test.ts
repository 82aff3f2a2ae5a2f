import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { HttpServer as EffectHttpServer } from "effect/http"
import { createServer } from "node:net"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as Events from "./Events.ts"
import * as FakeConversations from "./FakeConversations.ts"
import * as Socket from "./Socket.ts"
import * as TestServer from "./TestServer.ts"

const bindError = (options: HttpServer.Options) =>
  Layer.build(HttpServer.layer(options)).pipe(
    Effect.provide(FakeConversations.make().layer),
    Effect.flip,
    Effect.map((error) => error.message)
  )

it.effect("a port that is in use is named, with what to do", () =>
  Effect.gen(function* () {
    const { port } = yield* TestServer.start()
    const message = yield* bindError({ port })
    expect(message).toBe(
      `Cannot listen on 127.0.0.1:${port}: the port is in use. Stop what listens there, or choose another port with --port or server.port.`
    )
  })
)

it.effect("H4: a request that comes before there is anything behind the socket is answered when there is", () =>
  Effect.gen(function* () {
    const options = { port: 0 }
    const bound = yield* Layer.build(HttpServer.bound(options))
    const { address } = Context.get(bound, EffectHttpServer.HttpServer)
    if (address._tag === "UnixPathAddress") return yield* Effect.die("bound to a path")
    const early = yield* Effect.forkChild(Socket.call(address.port, { path: "/v1/conversations", body: {} }), {
      startImmediately: true
    })
    // Answered later than the first, so by now the first has been read.
    const arrived = Socket.raw(address.port, "This is not HTTP.\r\n\r\n")
    expect(yield* arrived).toMatch(/^HTTP\/1\.1 400 /)
    yield* Layer.build(HttpServer.served(options)).pipe(
      Effect.provide([FakeConversations.make().layer, Layer.succeedContext(bound)])
    )
    expect((yield* Fiber.join(early)).status).toBe(201)
  })
)

it.effect("an address that the machine does not have is named, with what to do", () =>
  Effect.gen(function* () {
    const message = yield* bindError({ host: "192.0.2.1", port: 0, token: Redacted.make("a-token-of-some-length") })
    expect(message).toContain("Cannot listen on 192.0.2.1:0: this machine does not have that address.")
  })
)

it.effect("an address that others can reach is refused without a token", () =>
  Effect.gen(function* () {
    for (const host of ["0.0.0.0", "::", "192.168.1.5", "holdfast.example.org"]) {
      expect(yield* bindError({ host, port: 0 })).toContain("without a token")
    }
  })
)

it.effect("a request head that comes too slowly is cut, with a problem", () =>
  Effect.gen(function* () {
    const { port } = yield* TestServer.start({ headTimeoutMs: 100, requestTimeoutMs: 100 })
    const answer = yield* Socket.raw(port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain("/docs#problem-request-timeout")
  })
)

it.effect("a body that comes too slowly is cut", () =>
  Effect.gen(function* () {
    const { port } = yield* TestServer.start({ headTimeoutMs: 100, requestTimeoutMs: 100 })
    const head =
      "POST /v1/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100"
    expect(yield* Socket.raw(port, `${head}\r\n\r\n{"mod`)).toMatch(/^HTTP\/1\.1 408 /)
  })
)

it.effect("an answer may take longer than any request may", () =>
  Effect.gen(function* () {
    const server = yield* TestServer.start({ headTimeoutMs: 50, requestTimeoutMs: 50 })
    const conversation = yield* server.create
    const path = `/v1/conversations/${conversation}/turns`
    const headers = { accept: "application/x-ndjson" }
    const live = yield* server.open({ path, headers, body: { prompt: "hello", turnId: "t" } })
    // A request that is cut for being late proves that the limit has passed, twice over.
    for (let round = 0; round < 2; round++) yield* Socket.raw(server.port, "GET / HTTP/1.1\r\n")
    const { end } = Events.of(conversation, "t")
    server.conversations.emit("t", [end])
    expect(JSON.parse(yield* live.rest)).toEqual(end)
  })
)

it.effect("what is no HTTP, or too much of it, is a problem too", () =>
  Effect.gen(function* () {
    const { port } = yield* TestServer.start()
    expect(yield* Socket.raw(port, "SSH-2.0-hello\r\n\r\n")).toContain("/docs#problem-invalid-request")
    const large = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`
    expect(yield* Socket.raw(port, large)).toContain("/docs#problem-head-too-large")
  })
)

/** A server in a scope of its own, which the test closes. */
const closable = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const server = yield* Scope.provide(TestServer.start(), scope)
  const conversation = yield* server.create
  const path = `/v1/conversations/${conversation}`
  return { close: Scope.close(scope, Exit.void), conversation, path, server }
})

it.effect("on the way down streams are let go of, and the port is free afterwards", () =>
  Effect.gen(function* () {
    const { close, path, server } = yield* closable
    const headers = { accept: "application/x-ndjson" }
    const turn = yield* server.open({ path: `${path}/turns`, headers, body: { prompt: "hello", turnId: "t" } })
    const watcher = yield* server.open({ path: `${path}/events` })
    yield* close
    // A turn's stream is cut, so that nobody takes it for complete; an endless one just ends.
    expect(Exit.isFailure(yield* Effect.exit(turn.rest))).toBe(true)
    expect(yield* watcher.rest).toMatch(/^event: reconnect\ndata: \{"code":"shutting-down",/)
    expect(server.conversations.calls).toEqual([])
    yield* Effect.callback<void>((resume) => {
      const again = createServer().listen(server.port, "127.0.0.1", () => again.close(() => resume(Effect.void)))
    })
  })
)

it.effect("on the way down whoever waits for JSON is told to come back", () =>
  Effect.gen(function* () {
    const { close, path, server } = yield* closable
    const waiting = yield* Effect.forkChild(
      server.call({ path: `${path}/turns`, body: { prompt: "hello", turnId: "t" } })
    )
    yield* server.conversations.arrival("t")
    yield* close
    const { status, text } = yield* Fiber.join(waiting)
    expect(status).toBe(503)
    expect(JSON.parse(text).type).toBe("/docs#problem-shutting-down")
  })
)
