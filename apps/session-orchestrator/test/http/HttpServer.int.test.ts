import { expect, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Scope } from "effect"
import { HttpServer as EffectHttpServer } from "effect/http"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { createServer } from "node:net"
import { Config } from "../../src/config/Config.ts"
import * as HttpServer from "../../src/http/HttpServer.ts"
import * as Configurations from "../config/Configurations.ts"
import { freePort } from "../FreePort.ts"
import * as Events from "./Events.ts"
import { WaitIsOver, withWait } from "../service/LongerWaits.ts"
import * as FakeConversations from "./FakeConversations.ts"
import * as Socket from "./Socket.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

const bindError = (options: Partial<HttpServer.Options>) =>
  Layer.build(TestServer.layer(options)).pipe(
    Effect.provide(FakeConversations.make().layer),
    Effect.flip,
    Effect.map((error) => error.message)
  )

It.effect("a port that is in use is named, with what to do", function* () {
  const { port } = yield* TestServer.start()
  expect(yield* bindError({ port })).toBe(
    `Cannot listen on 127.0.0.1:${port}: the port is in use. Stop what listens there, or choose another port with --port or server.port.`
  )
})

It.effect("HttpServer.H4: a request that arrives before the service is ready is answered once it is", function* () {
  const config = Configurations.config()
  const options = { ...config.server, port: 0 }
  const bound = yield* Layer.build(HttpServer.bound(options))
  const { address } = Context.get(bound, EffectHttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("bound to a path")
  const early = yield* Effect.forkChild(Socket.call(address.port, { path: "/v1/conversations", body: {} }), {
    startImmediately: true
  })
  // It is answered after the first one, so the first one has been read by now.
  expect(yield* Socket.raw(address.port, "This is not HTTP.\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /)
  const { layer } = FakeConversations.make()
  yield* Layer.build(HttpServer.served(options)).pipe(
    Effect.provide([layer, Layer.succeedContext(bound), Layer.succeed(Config, config), Timer.layer])
  )
  expect((yield* Fiber.join(early)).status).toBe(201)
})

It.effect("an address that is not the machine's is named, with what to do", function* () {
  const message = yield* bindError({ host: "192.0.2.1", port: 0, token: Redacted.make("a-token-of-some-length") })
  expect(message).toContain("Cannot listen on 192.0.2.1:0: this machine does not have that address.")
})

It.effect("an address that others can reach is refused without a token", function* () {
  for (const host of ["0.0.0.0", "::", "192.168.1.5", "holdfast.example.org"]) {
    expect(yield* bindError({ host, port: 0 })).toContain("without a token")
  }
})

It.effect("a request whose head or body arrives too slowly is cut, with a problem", function* () {
  const { port } = yield* TestServer.start({ headTimeoutMs: 100, requestTimeoutMs: 100 })
  const head = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
  for (const sent of ["GET /healthz HTTP/1.1\r\nHost: a\r\n", `POST /v1/conversations HTTP/1.1\r\n${head}\r\n{"mod`])
    expect(yield* Socket.raw(port, sent)).toMatch(/^HTTP\/1\.1 408 [^]*\/docs#problem-request-timeout/)
})

It.effect(
  "a head has 15 s to arrive, a request 60 s, and a connection that is idle is kept longer still",
  function* () {
    const servers: Array<unknown> = []
    const note = (message: unknown) => void servers.push(Object(message).server)
    subscribe("http.server.request.start", note)
    yield* (yield* TestServer.start()).call({ path: "/healthz" })
    unsubscribe("http.server.request.start", note)
    expect(servers).toMatchObject([{ headersTimeout: 15_000, requestTimeout: 60_000, keepAliveTimeout: 65_000 }])
  }
)

it.effect("an answer may take longer than the limit of a request", () =>
  withWait(
    0.05,
    Effect.fnUntraced(function* (seconds) {
      const limitMs = seconds * 1000
      const server = yield* TestServer.start({ headTimeoutMs: limitMs, requestTimeoutMs: limitMs })
      /** On a busy machine the request itself may come too late. */
      const inTime = <A extends Socket.Answer | Socket.Live>(answer: A) =>
        answer.status === 408 ? Effect.fail(new WaitIsOver()) : Effect.succeed(answer)
      const created = yield* Effect.flatMap(server.call({ path: "/v1/conversations", body: {} }), inTime)
      const conversation = JSON.parse(created.text).conversationId
      const path = `/v1/conversations/${conversation}/turns`
      const headers = { accept: "application/x-ndjson" }
      const opened = server.open({ path, headers, body: { prompt: "hello", turnId: "t" } })
      const live = yield* Effect.flatMap(opened, inTime)
      // A request that is cut because it is late proves that the limit has passed twice.
      for (let round = 0; round < 2; round++) yield* Socket.raw(server.port, "GET / HTTP/1.1\r\n")
      const { end } = Events.of(conversation, "t")
      server.conversations.emit("t", [end])
      expect(JSON.parse(yield* live.rest)).toEqual(end)
    })
  )
)

It.effect("text that is no HTTP, or too long, is a problem too", function* () {
  const { port } = yield* TestServer.start()
  expect(yield* Socket.raw(port, "SSH-2.0-hello\r\n\r\n")).toContain("/docs#problem-invalid-request")
  const large = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`
  expect(yield* Socket.raw(port, large)).toContain("/docs#problem-head-too-large")
})

/** A server in its own scope, which the test closes. */
const closable = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const server = yield* Scope.provide(TestServer.start({ port: yield* freePort }), scope)
  const conversation = yield* server.create
  const path = `/v1/conversations/${conversation}`
  return { close: Scope.close(scope, Exit.void), conversation, path, server }
})

It.effect("at a shutdown streams are closed, and the port is free afterwards", function* () {
  const { close, path, server } = yield* closable
  const headers = { accept: "application/x-ndjson" }
  const turn = yield* server.open({ path: `${path}/turns`, headers, body: { prompt: "hello", turnId: "t" } })
  const watcher = yield* server.open({ path: `${path}/events` })
  yield* close
  // A turn's stream is cut, so that no client takes it for complete; an endless stream just ends.
  expect(Exit.isFailure(yield* Effect.exit(turn.rest))).toBe(true)
  expect(yield* watcher.rest).toMatch(/^event: reconnect\ndata: \{"code":"shutting-down",/)
  expect(server.conversations.calls).toEqual([])
  yield* Effect.callback<void>((resume) => {
    const again = createServer().listen(server.port, "127.0.0.1", () => again.close(() => resume(Effect.void)))
  })
})

It.effect("at a shutdown a client that waits for JSON gets a problem that asks it to retry", function* () {
  const { close, path, server } = yield* closable
  const waiting = yield* Effect.forkChild(
    server.call({ path: `${path}/turns`, body: { prompt: "hello", turnId: "t" } })
  )
  yield* server.conversations.arrival("t")
  yield* close
  const { status, text } = yield* Fiber.join(waiting)
  expect([status, JSON.parse(text).type]).toEqual([503, "/docs#problem-shutting-down"])
})
