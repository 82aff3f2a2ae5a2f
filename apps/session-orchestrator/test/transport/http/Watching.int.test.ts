import { expect, it } from "@effect/vitest"
import { Sse } from "@holdfast/wire"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Events from "./Events.ts"
import * as TestServer from "./TestServer.ts"

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

it.effect("watching begins with what is persisted and goes on live", () =>
  Effect.gen(function* () {
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
)

it.effect("X3: a client that comes back with the last id it saw gets what came after it", () =>
  Effect.gen(function* () {
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
)

it.effect("a conversation that is quiet shows signs of life", () =>
  Effect.gen(function* () {
    const { path, server } = yield* withHistory
    const live = yield* server.open({ path })
    yield* TestClock.adjust("15 seconds")
    expect(yield* live.next).toBe(Sse.KEEP_ALIVE)
  })
)

it.effect("a watcher that is too slow is sent away in a way that makes a browser come back", () =>
  Effect.gen(function* () {
    const { events, path, server } = yield* withHistory
    const live = yield* server.open({ path })
    yield* live.pause
    server.conversations.emit("t", [events.delta("x".repeat(32_000_000))])
    for (let count = 0; count < 200; count++) server.conversations.emit("t", [events.delta("y")])
    yield* live.resume
    // It ends as it should, so EventSource reconnects with the last id it has.
    yield* live.rest
  })
)

it.effect("HEAD tells what watching would answer with, and does not watch", () =>
  Effect.gen(function* () {
    const { path, server } = yield* withHistory
    const { headers, status, text } = yield* server.call({ path, method: "HEAD" })
    expect([status, headers["content-type"], text]).toEqual([200, "text/event-stream", ""])
  })
)

it.effect("watching a conversation that does not exist is a problem, not a stream", () =>
  Effect.gen(function* () {
    const { server } = yield* withHistory
    const { headers, status } = yield* server.call({ path: "/v1/conversations/c_none/events" })
    expect([status, headers["content-type"]]).toEqual([404, "application/problem+json"])
  })
)
