import { expect } from "@effect/vitest"
import { Sse } from "@holdfast/wire"
import { Effect } from "effect"
import { Socket } from "node:net"
import { MOST_AT_ONCE } from "../../src/http/body/LiveResponse.ts"
import * as Events from "./Events.ts"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

/** A conversation with a finished turn `t`: four persisted events, and a delta between them. */
const withHistory = Effect.gen(function* () {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  yield* server.open({
    path: `/v1/conversations/${conversation}/turns`,
    headers: { accept: "application/x-ndjson" },
    body: { prompt: "hello", turnId: "t" }
  })
  const events = Events.of(conversation, "t")
  return { server, conversation, events, path: `/v1/conversations/${conversation}/events` }
})

It.effect("watching begins with the persisted events and continues live", function* () {
  const { events, path, server } = yield* withHistory
  server.conversations.emit("t", [events.start])
  const live = yield* server.open({ path })
  expect(live.headers["content-type"]).toBe("text/event-stream")
  yield* live.until(Sse.encode(events.start, 1))
  server.conversations.emit("t", [events.wait])
  yield* live.until(Sse.encode(events.wait))
  server.conversations.emit("t", [events.end])
  yield* live.until(Sse.encode(events.end, 2))
})

It.effect("rule X3: a client that reconnects with its last id gets the events after it", function* () {
  const { events, path, server } = yield* withHistory
  server.conversations.emit("t", [events.start, events.end])
  for (const request of [
    { path, headers: { "last-event-id": "1" } },
    { path: `${path}?after=1` },
    { path: `${path}?after=0`, headers: { "last-event-id": "1" } }
  ]) {
    const live = yield* server.open(request)
    expect(yield* live.until("turn-end")).toBe(Sse.encode(events.end, 2))
  }
})

It.effect("a watcher that is too slow is closed in a way that makes a browser reconnect", function* () {
  const { events, path, server } = yield* withHistory
  const live = yield* server.open({ path })
  yield* live.pause
  server.conversations.emit("t", [events.delta("x".repeat(32_000_000))])
  for (let count = 0; count < 200; count++) server.conversations.emit("t", [events.delta("y")])
  yield* live.resume
  // It ends properly, so EventSource reconnects with its last id; the last frame has the reason.
  expect(lastOf(yield* live.rest)).toEqual({ code: "too-slow", message: "The client is too slow." })
})

/** The data of the last frame, if that is `reconnect`. */
const lastOf = (text: string): unknown => {
  const [, data] = /\nevent: reconnect\ndata: (.*)\n\n$/.exec(text) ?? []
  return data === undefined ? undefined : JSON.parse(data)
}

It.effect("writes to many fast clients are spread over several turns of the event loop", function* () {
  const { events, path, server } = yield* withHistory
  const clients = yield* Effect.forEach(Array.from({ length: 24 }), () => server.open({ path }))
  server.conversations.emit("t", [events.start])
  for (const live of clients) yield* live.until(Sse.encode(events.start, 1))
  const written = yield* writesPerTurn
  for (let n = 0; n < 8; n++) server.conversations.emit("t", [events.delta("x".repeat(200_000))])
  server.conversations.emit("t", [events.end])
  for (const live of clients) yield* live.until("turn-end")
  const total = written.reduce((sum, bytes) => sum + bytes, 0)
  expect(total).toBeGreaterThan(24 * 8 * 200_000)
  expect(Math.max(...written)).toBeLessThanOrEqual(MOST_AT_ONCE)
})

/** The bytes that all sockets together write in each turn of the event loop from now on: those of responses, but for the heads of requests. */
const writesPerTurn = Effect.gen(function* () {
  const turns = [0]
  const { write } = Socket.prototype
  Socket.prototype.write = new Proxy(write, {
    apply: (target, socket, args: ReadonlyArray<string>) => {
      turns[turns.length - 1] = (turns.at(-1) ?? 0) + (args[0]?.length ?? 0)
      return Reflect.apply(target, socket, args)
    }
  })
  let next = setImmediate(function count() {
    turns.push(0)
    next = setImmediate(count)
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      Socket.prototype.write = write
      clearImmediate(next)
    })
  )
  return turns
})

It.effect("HEAD has the head of watching, and does not watch", function* () {
  const { path, server } = yield* withHistory
  const { headers, status, text } = yield* server.call({ path, method: "HEAD" })
  expect([status, headers["content-type"], text]).toEqual([200, "text/event-stream", ""])
})
