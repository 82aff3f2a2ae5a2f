import { expect, it } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Sse, TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Events from "./Events.ts"
import * as TestServer from "./TestServer.ts"
import * as Socket from "./Socket.ts"
import * as It from "../It.ts"

const NDJSON = { accept: "application/x-ndjson" }
const SSE = { accept: "text/event-stream" }

/** A conversation with a requested turn `t`, answered in the format of `headers`. */
const ask = Effect.fnUntraced(function* (headers: Record<string, string>) {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  const live = yield* server.open({
    path: `/v1/conversations/${conversation}/turns`,
    headers,
    body: { prompt: "hello", turnId: "t" }
  })
  return { server, conversation, live, events: Events.of(conversation, "t") }
})

const decodeNdjson = (text: string): ReadonlyArray<unknown> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

it.effect.prop(
  "rule D12: every event of a turn reaches a client unchanged, over a socket, as NDJSON and as SSE",
  { chunks: Schema.Array(Schema.Array(TurnEvent.TurnEvent)) },
  ({ chunks }) =>
    Effect.gen(function* () {
      const sent = chunks.map((events) => events.filter(({ type }) => type !== "turn-end"))
      const expected = (end: TurnEvent.TurnEvent) => JSON.parse(JSON.stringify([...sent.flat(), end]))
      for (const accept of [NDJSON, SSE]) {
        const { events, live, server } = yield* ask(accept)
        expect(live.headers["content-type"]).toBe(accept.accept)
        for (const chunk of [...sent, [events.end]]) server.conversations.emit("t", chunk)
        const text = yield* live.rest
        const lines =
          accept === NDJSON ? text : Array.from(text.matchAll(/^data: (.*)$/gm), ([, json]) => json).join("\n")
        expect(decodeNdjson(lines)).toEqual(expected(events.end))
      }
    }).pipe(Effect.scoped),
  { arbitrary: { runs: 10 } }
)

It.effect("SSE frames carry ids for persisted events and none for transient ones", function* () {
  const { events, live, server } = yield* ask(SSE)
  server.conversations.emit("t", [events.start, events.delta("a"), events.end])
  const text = yield* live.rest
  expect(live.headers["content-type"]).toBe("text/event-stream")
  expect(text).toBe([Sse.encode(events.start, 1), Sse.encode(events.delta("a")), Sse.encode(events.end, 2)].join(""))
})

It.effect("the events of one read leave in one write", function* () {
  const { events, live, server } = yield* ask(NDJSON)
  const deltas = Array.from({ length: 50 }, (_, index) => events.delta(String(index)))
  server.conversations.emit("t", deltas)
  expect((yield* live.next).trimEnd().split("\n")).toHaveLength(50)
})

/** Requests turn `t` as JSON and waits until the server awaits its result. */
const askForResult = Effect.fnUntraced(function* () {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  const answer = yield* Effect.forkChild(
    server.open({ path: `/v1/conversations/${conversation}/turns`, body: { prompt: "hello", turnId: "t" } })
  )
  const turn = yield* server.conversations.arrival("t")
  yield* Deferred.await(turn.awaited)
  const { end } = Events.of(conversation, "t")
  return { server, turn, answer, conversation, result: { turnId: end.turnId, end, text: "fine" } }
})

It.effect("a request for no stream is answered once the turn has sealed", function* () {
  const { answer, result, turn } = yield* askForResult()
  const error = { reason: "auth", message: "no key", retryable: false } as const
  yield* Deferred.succeed(turn.result, { ...result, end: { ...result.end, status: "failed", error } })
  const live = yield* Fiber.join(answer)
  expect([live.status, live.headers["content-type"]]).toEqual([200, "application/json"])
  expect(JSON.parse(yield* live.rest)).toEqual({ turnId: "t", status: "failed", text: "fine", error })
})

It.effect("a JSON answer that takes long begins early, and its keep-alives are valid JSON", function* () {
  const { answer, result, turn } = yield* askForResult()
  yield* TestClock.adjust("15 seconds")
  const live = yield* Fiber.join(answer)
  expect(live.status).toBe(200)
  for (let hours = 0; hours < 3; hours++) {
    yield* TestClock.adjust("15 seconds")
    expect(yield* live.next).toBe(" ")
  }
  yield* Deferred.succeed(turn.result, result)
  expect(JSON.parse(yield* live.rest)).toEqual({ turnId: "t", status: "completed", text: "fine" })
})

It.effect("rule C11: an answer of megabytes leaves in pieces, at once and late, and is complete", function* () {
  const text = "word \u{1f600} ".repeat(400_000)
  for (const isLate of [false, true]) {
    const { answer, result, turn } = yield* askForResult()
    if (isLate) yield* TestClock.adjust("15 seconds")
    yield* Deferred.succeed(turn.result, { ...result, text })
    const live = yield* Fiber.join(answer)
    expect([live.headers["content-type"], live.headers["transfer-encoding"]]).toEqual(["application/json", "chunked"])
    expect(JSON.parse(yield* live.rest)).toEqual({ turnId: "t", status: "completed", text })
  }
})

It.effect("a disk that fails while a client waits for a turn is a problem", function* () {
  const { answer, turn } = yield* askForResult()
  yield* Deferred.fail(turn.result, new StorageError({ message: "The disk is full." }))
  const live = yield* Fiber.join(answer)
  expect([live.status, live.headers["content-type"]]).toEqual([503, "application/problem+json"])
  expect(JSON.parse(yield* live.rest)).toMatchObject({ detail: "The disk is full." })
})

It.effect("rule D12: a stream that waits stays one object a line: keep-alives precede the next object", function* () {
  const { events, live, server } = yield* ask(NDJSON)
  server.conversations.emit("t", [events.wait])
  yield* live.until("\n")
  yield* TestClock.adjust("15 seconds") // the wait is written meanwhile
  yield* TestClock.adjust("15 seconds")
  expect(yield* live.next).toBe(" ")
  server.conversations.emit("t", [events.delta("a"), events.end])
  const text = yield* live.rest
  expect(Socket.jsonLines(text)).toEqual([events.wait, events.delta("a"), events.end])
  expect(decodeNdjson(text)).toHaveLength(3)
})

It.effect("a manual retry is answered like a turn, with or without a body", function* () {
  const server = yield* TestServer.start()
  const conversation = yield* server.create
  const path = `/v1/conversations/${conversation}/retry`
  const live = yield* server.open({ path, headers: NDJSON, body: { turnId: "r" } })
  const { end } = Events.of(conversation, "r")
  server.conversations.emit("r", [end])
  expect(JSON.parse(yield* live.rest)).toEqual(end)
  const bare = yield* server.open({ path, method: "POST", headers: NDJSON })
  expect(bare.status).toBe(200)
})

It.effect("the head of a stream leaves once the turn is accepted, before any event", function* () {
  const { live, server } = yield* ask(NDJSON)
  expect(live.status).toBe(200)
  expect(server.conversations.turn("t").prompt).toBe("hello")
})
