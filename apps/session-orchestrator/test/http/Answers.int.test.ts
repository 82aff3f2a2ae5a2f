/** Tests HTTP responses at the limits of the server: their content, their headers and their end. */
import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Net from "node:net"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

const problemOf = (text: string): { readonly detail: string; readonly errors?: ReadonlyArray<unknown> } =>
  JSON.parse(text)

/** Sends bytes, and more after a part of the answer has arrived; returns everything up to the end. */
const exchange = (port: number, first: string, part: string, second: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    let received = ""
    let isSent = false
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(first))
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk
      if (isSent || !received.includes(part)) return
      isSent = true
      socket.write(second)
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(received)))
    return Effect.sync(() => socket.destroy())
  })

describe("a problem", () => {
  It.effect("has the number of errors, and mentions more only if there are more", function* () {
    const server = yield* TestServer.start()
    const wrong = (count: number) =>
      Effect.map(
        server.call({
          path: "/v1/conversations",
          body: Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, n]))
        }),
        ({ text }) => problemOf(text)
      )
    assert.strictEqual((yield* wrong(1)).detail, "One thing is wrong with the request; see errors.")
    assert.strictEqual((yield* wrong(2)).detail, "2 things are wrong with the request; see errors.")
    const most = yield* wrong(50)
    assert.strictEqual(most.detail, "50 things are wrong with the request; see errors.")
    assert.lengthOf(most.errors ?? [], 50)
    const more = yield* wrong(51)
    assert.strictEqual(more.detail, "51 things are wrong with the request; see errors, which has the first 50.")
    assert.lengthOf(more.errors ?? [], 50)
  })

  It.effect("of a path lists the path's methods, or reports an unknown path", function* () {
    const { call } = yield* TestServer.start()
    const refused = (method: string, path: string) =>
      Effect.map(call({ method, path }), ({ headers, status, text }) => ({
        status,
        allow: headers["allow"],
        detail: problemOf(text).detail
      }))
    assert.deepStrictEqual(yield* refused("PUT", "/v1/conversations/c_1?since=1"), {
      status: 405,
      allow: "DELETE, GET, HEAD",
      detail: "This path takes DELETE, GET, HEAD; not PUT."
    })
    assert.deepStrictEqual(yield* refused("GET", "/v1/nowhere"), {
      status: 404,
      allow: undefined,
      detail: "No call has this path. /docs lists all calls."
    })
    for (const part of ["%zz", "a%", "%ff"]) {
      const undecodable = yield* refused("GET", `/v1/conversations/${part}/events?after=%zz`)
      assert.strictEqual(undecodable.status, 400)
      assert.include(undecodable.detail, JSON.stringify(part))
    }
    assert.strictEqual((yield* refused("GET", "/v1/nowhere?q=%zz")).status, 404)
  })

  It.effect("is not written into an answer that has begun: the connection is cut", function* () {
    const server = yield* TestServer.start()
    const path = `/v1/conversations/${yield* server.create}/events`
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const received = yield* exchange(server.port, request, "\r\n\r\n", "This is not HTTP.\r\n\r\n")
    assert.match(received, /^HTTP\/1\.1 200 /)
    assert.notInclude(received, "HTTP/1.1 400")
  })
})

describe("a server", () => {
  It.effect("accepts bodies up to 1 MiB and no larger ones", function* () {
    const { call } = yield* TestServer.start()
    const create = (bytes: number) => {
      const body = `{"system":"${"x".repeat(bytes - '{"system":""}'.length)}"}`
      return Effect.map(call({ path: "/v1/conversations", body }), ({ status }) => status)
    }
    assert.deepStrictEqual([yield* create(1_048_576), yield* create(1_048_577)], [201, 413])
  })

  It.effect("keeps an idle connection longer than the usual 60 seconds of proxies", function* () {
    const { port } = yield* TestServer.start()
    const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    const close = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert.match(yield* exchange(port, request, '"ok"', close), /^keep-alive: timeout=65$/im)
  })

  It.effect("sends the headers of every answer on refusals too, and Retry-After where that helps", function* () {
    const { call, drain } = yield* TestServer.start({ token: Redacted.make("a-token-of-some-length") })
    const headers = { authorization: "Bearer a-token-of-some-length" }
    yield* drain.begin
    const answers = [yield* call({ path: "/nowhere" }), yield* call({ path: "/readyz", headers })]
    assert.deepStrictEqual(
      answers.map(({ headers, status }) => [status, headers["cache-control"], headers["retry-after"]]),
      [
        [401, "no-store", undefined],
        [503, "no-store", "5"]
      ]
    )
  })

  /** A server that a test closes while a turn answers. */
  const closing = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const server = yield* Scope.provide(TestServer.start(), scope)
    const state = { isAnswering: true }
    server.condition.setSettling(() => !state.isAnswering)
    const ended = { isEnded: false }
    yield* Effect.forkChild(
      Effect.andThen(
        server.drain.ended,
        Effect.sync(() => (ended.isEnded = true))
      ),
      { startImmediately: true }
    )
    const closed = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
    return { server, state, ended, closed }
  })

  for (const [when, isOver] of [
    ["a begun answer has 20 s", false],
    ["nothing is waited for after the last answer", true]
  ] as const)
    It.effect(`HttpServer.H3: at a shutdown ${when}; no client is released before`, function* () {
      const { closed, ended, server, state } = yield* closing
      yield* TestClock.adjust(isOver ? "3 seconds" : "19999 millis")
      assert.deepStrictEqual([yield* server.drain.hasBegun, ended.isEnded], [true, false])
      state.isAnswering = !isOver
      yield* TestClock.adjust(isOver ? "50 millis" : "1 milli")
      assert.isTrue(ended.isEnded)
      yield* Fiber.join(closed)
    })
})
