import { describe, expect } from "@effect/vitest"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import * as Events from "../Events.ts"
import * as TestServer from "../TestServer.ts"
import * as It from "../../It.ts"

const message = (text: string, id = "m1") => ({ id, role: "user", parts: [{ type: "text", text }], metadata: { a: 1 } })

const CHAT = { id: "chat-1", trigger: "submit-message" }
const body = (text: string, more: object = {}) => ({ ...CHAT, messages: [message(text)], ...more })

/** The parts of a stream. */
const partsOf = (text: string): ReadonlyArray<unknown> =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => (data === "[DONE]" ? data : JSON.parse(data)))

/** A chat with a turn that runs. */
const withChat = Effect.gen(function* () {
  const server = yield* TestServer.start({ maxFileBytes: 1_024 })
  const live = yield* server.open({ path: "/v1/chat", body: body("Are you there?", { model: "a/b", custom: [1] }) })
  const { turnId } = yield* Effect.map(server.call({ path: "/v1/conversations/chat-1" }), ({ text }) =>
    JSON.parse(text)
  )
  return { server, live, turnId: String(turnId), events: Events.of("chat-1", String(turnId)) }
})

const text = (turnId: string, text: string): TurnEvent.TurnEvent => ({
  type: "message",
  conversationId: Ids.ConversationId.make("chat-1"),
  turnId: Ids.TurnId.make(turnId),
  message: {
    role: "assistant",
    id: Ids.messageIdOf(Ids.TurnId.make(turnId), 1),
    turnId: Ids.TurnId.make(turnId),
    createdAt: 1,
    content: [{ type: "text", text }],
    target: { provider: "a", model: "b" },
    finishReason: "stop"
  }
})

describe("POST /v1/chat", () => {
  It.effect("opens the chat, and streams its turn in the AI SDK's protocol, waits as transient parts", function* () {
    const { events, live, server, turnId } = yield* withChat
    expect(live.headers).toMatchObject({
      "content-type": "text/event-stream",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-accel-buffering": "no"
    })
    server.conversations.emit(turnId, [events.start, events.wait])
    server.conversations.emit(turnId, [events.delta("I "), events.delta("am."), text(turnId, "I am."), events.end])
    const parts = partsOf(yield* live.until("[DONE]"))
    const { conversationId: _c, turnId: _t, type: _type, ...wait } = events.wait
    const metadata = { conversationId: "chat-1", turnId }
    expect(parts).toEqual([
      { type: "start", messageId: turnId, messageMetadata: metadata },
      { type: "data-provider-retry", data: wait, transient: true },
      { type: "start-step" },
      { type: "text-start", id: `${turnId}-0` },
      { type: "text-delta", id: `${turnId}-0`, delta: "I " },
      { type: "text-delta", id: `${turnId}-0`, delta: "am." },
      { type: "text-end", id: `${turnId}-0` },
      { type: "finish-step" },
      expect.objectContaining({ type: "message-metadata" }),
      expect.objectContaining({ type: "finish", finishReason: "stop" }),
      "[DONE]"
    ])
    expect((yield* server.call({ path: "/v1/conversations/chat-1" })).text).toContain('"model":"a/b"')
  })

  It.effect("takes a message that is sent again for the same turn, and refuses a changed one", function* () {
    const { events, server, turnId } = yield* withChat
    server.conversations.emit(turnId, [events.start, events.end])
    const again = yield* server.call({ path: "/v1/chat", body: body("Are you there?") })
    expect(partsOf(again.text)[0]).toMatchObject({ type: "start", messageId: turnId })
    const changed = yield* server.call({ path: "/v1/chat", body: body("Is nobody there?", { messageId: "m1" }) })
    expect(changed.status).toBe(409)
    expect(JSON.parse(changed.text).detail).toMatch(/^This message was sent before with another text\./)
  })

  It.effect("rule M1: regenerates by a retry; what never arrived is sent, and what runs is watched", function* () {
    const { events, server, turnId } = yield* withChat
    const regenerate = (text: string, id?: string) =>
      server.open({
        path: "/v1/chat",
        body: body(text, { messages: [message(text, id)], trigger: "regenerate-message" })
      })
    const startOf = (live: { until: (part: string) => Effect.Effect<string, Error> }) =>
      Effect.map(live.until("messageMetadata"), (text) => partsOf(text)[0])
    server.conversations.emit(turnId, [events.start])
    expect(yield* startOf(yield* regenerate("Are you there?"))).toMatchObject({ messageId: turnId })
    server.conversations.emit(turnId, [events.end])
    const retried = yield* regenerate("Are you there?")
    const { turnId: retry } = JSON.parse((yield* server.call({ path: "/v1/conversations/chat-1" })).text)
    expect(server.conversations.turn(retry).prompt).toBe(undefined)
    server.conversations.emit(retry, [Events.of("chat-1", retry).start, Events.of("chat-1", retry).end])
    expect(yield* startOf(retried)).toMatchObject({ messageId: retry })
    yield* regenerate("Lost on the way", "m2")
    const { turnId: sent } = JSON.parse((yield* server.call({ path: "/v1/conversations/chat-1" })).text)
    expect(server.conversations.turn(sent).prompt).toBe("Lost on the way")
    server.conversations.emit(sent, [Events.of("chat-1", sent).start, Events.of("chat-1", sent).end])
    expect((yield* regenerate("Are you there?", "m1")).status).toBe(409)
  })

  It.effect("refuses what is no message, and files that are too large", function* () {
    const server = yield* TestServer.start({ maxFileBytes: 1_024 })
    const refused = (given: object) =>
      Effect.map(server.call({ path: "/v1/chat", body: given }), ({ status, text }) => [status, JSON.parse(text).type])
    const invalid = [400, "/docs#problem-invalid-request"]
    expect([yield* refused({}), yield* refused(body("", { messages: [] }))]).toEqual([invalid, invalid])
    expect(yield* refused(body("Hi", { id: "a/b" }))).toEqual(invalid)
    const url = `data:text/plain;base64,${Buffer.alloc(1_025).toString("base64")}`
    const file = { id: "m1", role: "user", parts: [{ type: "file", mediaType: "text/plain", url }] }
    expect(yield* refused(body("", { messages: [file] }))).toEqual([413, "/docs#problem-file-too-large"])
    yield* server.drain.begin
    expect(yield* refused(body("Hi"))).toEqual([503, "/docs#problem-shutting-down"])
    // Nothing was opened.
    expect((yield* server.call({ path: "/v1/conversations/chat-1" })).status).toBe(404)
  })
})

describe("GET /v1/chat/:id/stream", () => {
  It.effect("is 204 for a chat without a turn, else the stream of its last turn, from the beginning", function* () {
    const { events, server, turnId } = yield* withChat
    expect((yield* server.call({ path: "/v1/chat/unknown/stream" })).status).toBe(204)
    server.conversations.emit(turnId, [events.start, events.delta("I ")])
    const live = yield* server.open({ path: "/v1/chat/chat-1/stream" })
    expect(live.headers["x-vercel-ai-ui-message-stream"]).toBe("v1")
    expect(partsOf(yield* live.until('"I "'))[0]).toMatchObject({ type: "start", messageId: turnId })
    server.conversations.emit(turnId, [events.end])
    expect(partsOf(yield* live.until("[DONE]")).at(-1)).toBe("[DONE]")
    // The page was away at its end.
    const ended = partsOf((yield* server.call({ path: "/v1/chat/chat-1/stream" })).text)
    expect([ended[0], ended.at(-1)]).toEqual([expect.objectContaining({ messageId: turnId }), "[DONE]"])
  })

  It.effect("is cut at a shutdown, so that the page knows that it is not whole", function* () {
    const { live, server } = yield* withChat
    yield* server.drain.end
    expect(yield* Effect.exit(live.rest)).toMatchObject({ _tag: "Failure" })
  })
})

It.effect("DELETE /v1/chat/:id aborts", function* () {
  const { server } = yield* withChat
  expect((yield* server.call({ path: "/v1/chat/chat-1", method: "DELETE" })).status).toBe(202)
  expect(server.conversations.calls).toEqual(["abort"])
  expect((yield* server.call({ path: "/v1/chat/unknown", method: "DELETE" })).status).toBe(404)
})
