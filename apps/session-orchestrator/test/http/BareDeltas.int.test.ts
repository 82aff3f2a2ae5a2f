import { expect } from "@effect/vitest"
import { Sse } from "@holdfast/wire"
import { Effect } from "effect"
import * as Events from "./Events.ts"
import * as TestServer from "./TestServer.ts"
import * as Socket from "./Socket.ts"
import * as It from "../It.ts"

const given = Effect.gen(function* () {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  const events = Events.of(conversation, "t")
  const turns = `/v1/conversations/${conversation}/turns`
  const sent = [events.start, events.wait, events.delta("Hi"), events.end]
  return { server, conversation, events, turns, sent }
})

const body = { prompt: "hello", turnId: "t" }

It.effect("rule D12: a client of one turn gets deltas without ids where it asks; no other event changes", function* () {
  const { events, sent, server, turns } = yield* given
  const lines = yield* server.open({ path: `${turns}?deltas=bare`, headers: { accept: "application/x-ndjson" }, body })
  const frames = yield* server.open({ path: `${turns}?deltas=bare`, headers: { accept: "text/event-stream" }, body })
  const watched = yield* server.open({ path: "/v1/turns/t/events?deltas=bare" })
  server.conversations.emit("t", sent)
  const expected = [events.start, events.wait, { type: "text-delta", delta: "Hi" }, events.end]
  const ndjson = yield* lines.rest
  expect(Socket.jsonLines(ndjson)).toEqual(expected)
  expect(yield* watched.rest).toBe(ndjson)
  expect(yield* frames.rest).toBe(
    Sse.encode(events.start, 1) +
      Sse.encode(events.wait) +
      Sse.frame('{"type":"text-delta","delta":"Hi"}') +
      Sse.encode(events.end, 2)
  )
})

It.effect("rule D12: without that the ids are there, and another value is refused", function* () {
  const { sent, server, turns } = yield* given
  const headers = { accept: "application/x-ndjson" }
  const full = yield* server.open({ path: `${turns}?deltas=full`, headers, body })
  const usual = yield* server.open({ path: turns, headers, body })
  server.conversations.emit("t", sent)
  const text = yield* full.rest
  expect(text).toBe(sent.map((event) => `${JSON.stringify(event)}\n`).join(""))
  expect(yield* usual.rest).toBe(text)
  expect((yield* server.call({ path: `${turns}?deltas=none`, headers, body })).status).toBe(400)
})
