import { describe, expect } from "@effect/vitest"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Events from "../Events.ts"
import * as SocketClient from "./SocketClient.ts"
import * as TestServer from "../TestServer.ts"
import * as It from "../../It.ts"

/** A socket, and a conversation with the turn `t` that runs. */
const withTurn = Effect.gen(function* () {
  const server = yield* TestServer.start()
  const client = yield* SocketClient.open(server.port)
  const created = yield* client.ask({ type: "create", model: "simulated/steady" })
  const { conversationId } = created["data"] as { readonly conversationId: string }
  const prompted = yield* client.ask({ type: "prompt", conversationId, prompt: "hello", turnId: "t" })
  return { server, client, conversationId, prompted, events: Events.of(conversationId, "t") }
})

describe("commands", () => {
  It.effect("are refused with the name of the problem, and the socket stays", function* () {
    const { client, conversationId, server } = yield* withTurn
    const refused = (command: SocketClient.Message) => Effect.map(client.ask(command), ({ code }) => code)
    expect(yield* refused({ type: "abort", conversationId: "c_0" })).toBe("conversation-not-found")
    expect(yield* refused({ type: "subscribe", conversationId: "c_0" })).toBe("conversation-not-found")
    expect(yield* refused({ type: "subscribe", conversationId, turnId: "other" })).toBe("turn-not-found")
    expect(yield* refused({ type: "subscribe", conversationId, deltas: "bare" })).toBe("invalid-request")
    expect(yield* refused({ type: "prompt", conversationId, prompt: "another", turnId: "t" })).toBe("turn-conflict")
    expect(yield* refused({ type: "nothing" })).toBe("invalid-request")
    server.conversations.broken.storage = true
    expect(yield* refused({ type: "retry", conversationId })).toBe("storage-unavailable")
    server.conversations.broken.storage = false
    yield* server.drain.begin
    expect(yield* refused({ type: "retry", conversationId })).toBe("shutting-down")
    expect(yield* refused({ type: "get_state", conversationId })).toBe(undefined)
  })

  It.effect("of one conversation wait for each other, and those of others do not", function* () {
    const { client, conversationId, server } = yield* withTurn
    const other = yield* server.create
    server.conversations.broken.holdsCommands = true
    yield* client.send({ id: "a", type: "abort", conversationId })
    yield* client.send({ id: "b", type: "set_auto_retry", conversationId, enabled: false })
    yield* client.send({ id: "c", type: "set_auto_retry", conversationId: other, enabled: false })
    expect(yield* client.next).toMatchObject({ id: "c", success: true })
    yield* client.send({ id: "d", type: "get_state", conversationId })
    expect(yield* client.ask({ type: "get_state", conversationId: other })).toMatchObject({
      data: { autoRetryEnabled: false }
    })
    // A command that is not on disk at the end of the service is refused.
    yield* server.drain.end
    expect(yield* client.next).toMatchObject({ id: "a", success: false, code: "shutting-down" })
    expect(yield* client.untilType("reconnect")).toMatchObject({ code: "shutting-down" })
  })

  It.effect("that are no text, or no JSON, are refused without an id", function* () {
    const { client } = yield* withTurn
    client.socket.send(Buffer.of(0, 1))
    expect(yield* client.next).toEqual({
      type: "response",
      success: false,
      code: "invalid-request",
      error: "The message is binary, and was not read. Expected a text with one JSON object."
    })
    yield* client.send("no JSON")
    expect(yield* client.next).toMatchObject({ success: false, code: "invalid-request" })
  })

  It.effect("that were read before the socket closed take effect", function* () {
    const { client, conversationId, server } = yield* withTurn
    yield* client.send({ type: "prompt", conversationId, prompt: "the last", turnId: "last" })
    client.socket.close()
    expect((yield* server.conversations.arrival("last")).prompt).toBe("the last")
  })
})

describe("subscriptions", () => {
  It.effect("of several conversations share a socket, and end one by one", function* () {
    const { client, conversationId, events, server } = yield* withTurn
    const other = yield* server.create
    yield* client.ask({ type: "prompt", conversationId: other, prompt: "hello", turnId: "u" })
    // The second one of the same conversation takes the place of the first.
    for (let times = 0; times < 2; times++) yield* client.ask({ type: "subscribe", conversationId })
    yield* client.ask({ type: "subscribe", conversationId: other })
    const elsewhere = yield* client.ask({ type: "subscribe", conversationId, turnId: "u" })
    expect(elsewhere).toMatchObject({ success: false, code: "turn-not-found" })
    server.conversations.emit("t", [events.start])
    expect(yield* client.next).toEqual({ eventId: 1, ...events.start })
    const states = [conversationId, other].map((conversationId) => client.ask({ type: "get_state", conversationId }))
    expect(yield* Effect.all(states)).toMatchObject([{ data: { lastEventId: 1 } }, { data: { lastEventId: 0 } }])
    yield* client.ask({ type: "unsubscribe", conversationId })
    expect(server.conversations.watchersOf(conversationId)).toBe(0)
    server.conversations.emit("t", [events.end])
    server.conversations.emit("u", [Events.of(other, "u").start])
    expect(yield* client.next).toMatchObject({ eventId: 1, turnId: "u" })
  })

  It.effect("rule D12: of a turn may have bare deltas, with the command's id; they end with the turn", function* () {
    const { client, conversationId, events, server } = yield* withTurn
    const subscribe = { id: 9, type: "subscribe", conversationId, turnId: "t", deltas: "bare" }
    expect(yield* client.ask(subscribe)).toMatchObject({ success: true })
    server.conversations.emit("t", [events.start, events.wait, events.delta("Hi"), events.end])
    expect([yield* client.next, yield* client.next]).toEqual([{ eventId: 1, ...events.start }, events.wait])
    expect(yield* client.next).toEqual({ id: 9, type: "text-delta", delta: "Hi" })
    expect(yield* client.next).toEqual({ eventId: 2, ...events.end })
  })
})

describe("the socket", () => {
  It.effect("begins with the server's time, repeats it, and pings", function* () {
    const server = yield* TestServer.start()
    yield* TestClock.setTime(1_000)
    const client = yield* SocketClient.open(server.port)
    expect(client.socket.protocol).toBe(SocketMessages.SUBPROTOCOL)
    expect(yield* client.untilType("keep-alive")).toEqual({ type: "keep-alive", now: 1_000 })
    const pinged = Effect.callback<void>((resume) => void client.socket.once("ping", () => resume(Effect.void)))
    yield* Effect.all([pinged, TestClock.adjust(SocketMessages.KEEP_ALIVE_MS)], { concurrency: 2 })
    expect(yield* client.untilType("keep-alive")).toEqual({ type: "keep-alive", now: 16_000 })
  })

  It.effect("closes with the reason at a shutdown, and asks to reconnect", function* () {
    const { client, server } = yield* withTurn
    yield* server.drain.end
    expect(yield* client.next).toMatchObject({ type: "reconnect", code: "shutting-down" })
    expect(yield* client.closed).toEqual({ code: 1012, reason: "Holdfast is shutting down; connect again soon." })
  })

  It.effect("closes at the value of a message that is too many, without the rest of the message", function* () {
    const server = yield* TestServer.start()
    const { closed, socket } = yield* SocketClient.open(server.port)
    yield* Effect.sync(() => {
      const send = (text: string) => socket.send(text, { fin: false })
      send('{"type":"prompt","conversationId":"c","prompt":[')
      socket.ping()
      send("{},".repeat(10_000))
    })
    expect(yield* closed).toEqual({ code: 1009, reason: 'A message has more than 10000 values, in "prompt".' })
  })

  It.effect("closes with the reason at a message that is too long, or no UTF-8", function* () {
    const server = yield* TestServer.start({ maxBodyBytes: 1_024 })
    const long = yield* SocketClient.open(server.port)
    yield* long.send("x".repeat(1_025))
    const reason = "A message may have 1024 bytes at most (server.maxBodyBytes)."
    expect(yield* long.closed).toEqual({ code: 1009, reason })
    const binary = yield* SocketClient.open(server.port)
    binary.socket.send(Buffer.of(0xff), { binary: false })
    expect(yield* binary.closed).toEqual({ code: 1007, reason: "A message is not UTF-8." })
  })

  It.effect("needs the token, in a header or as a subprotocol, and never reads an address", function* () {
    const token = "a/token+of some=length"
    const server = yield* TestServer.start({ token: Redacted.make(token) })
    const opened = (options: SocketClient.Options) =>
      SocketClient.open(server.port, options).pipe(
        Effect.match({ onSuccess: ({ socket }) => socket.protocol, onFailure: ({ status }) => status }),
        Effect.scoped
      )
    const { SUBPROTOCOL, tokenProtocol } = SocketMessages
    expect(yield* opened({ protocols: [SUBPROTOCOL, tokenProtocol(token)] })).toBe(SUBPROTOCOL)
    expect(yield* opened({ headers: { authorization: `Bearer ${token}` } })).toBe(SUBPROTOCOL)
    expect(yield* opened({ protocols: [], headers: { authorization: `Bearer ${token}` } })).toBe("")
    expect(yield* opened({ protocols: [SUBPROTOCOL, tokenProtocol("another token")] })).toBe(401)
    expect(yield* opened({})).toBe(401)
    expect(yield* opened({ path: `${SocketMessages.PATH}?token=${encodeURIComponent(token)}` })).toBe(401)
  })

  It.effect("is refused to pages of other origins, and to unknown subprotocols and versions", function* () {
    const server = yield* TestServer.start()
    const refused = (options: SocketClient.Options) =>
      Effect.map(Effect.flip(SocketClient.open(server.port, options)), ({ status, text }) => [
        status,
        JSON.parse(text).type
      ])
    expect(yield* refused({ headers: { origin: "https://evil.example" } })).toEqual([403, "/docs#problem-forbidden"])
    expect(yield* refused({ protocols: ["graphql-ws"] })).toEqual([400, "/docs#problem-invalid-request"])
    const key = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" }
    const headers = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "8", ...key }
    const { status, text } = yield* server.call({ path: SocketMessages.PATH, headers })
    expect([status, JSON.parse(text).detail]).toEqual([
      400,
      'The handshake has the version "8". Expected Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key.'
    ])
  })

  It.effect("is no page: a request without an upgrade is 426; elsewhere an upgrade is ordinary", function* () {
    const server = yield* TestServer.start()
    const plain = yield* server.call({ path: SocketMessages.PATH })
    expect([plain.status, JSON.parse(plain.text).type]).toEqual([426, "/docs#problem-upgrade-required"])
    const upgrade = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="
    }
    expect((yield* server.call({ path: "/healthz", headers: upgrade })).status).toBe(200)
    const posted = yield* server.call({ path: "/v1/conversations", headers: upgrade, body: { model: "a/b" } })
    expect(posted.status).toBe(201)
    expect((yield* server.call({ path: "/nothing", headers: { ...upgrade, upgrade: "h2c" } })).status).toBe(404)
  })
})
