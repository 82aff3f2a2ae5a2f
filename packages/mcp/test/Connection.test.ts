import { assert, describe, it } from "@effect/vitest"
import type { JSONRPCMessage } from "@modelcontextprotocol/client"
import { Deferred, Effect, Exit, Fiber, Queue, Scope } from "effect"
import * as Connection from "../src/Connection.ts"

/** A server's answer to a method: a result, its own error, or no answer. `undefined`: the usual answer. */
type Answers = (method: string, params: Readonly<Record<string, unknown>>) => Answer | "nothing" | undefined
type Answer =
  | { readonly result: Record<string, unknown> }
  | { readonly error: { readonly code: number; readonly message: string } }

const TOOLS = { tools: { listChanged: true } }

/** A server at the other end of a transport, in memory. */
const server = Effect.fnUntraced(function* (answers: Answers, capabilities: Record<string, unknown> = TOOLS) {
  const lost = yield* Deferred.make<string>()
  const sent: Array<JSONRPCMessage & { readonly method?: string }> = []
  const listeners: {
    onmessage?: (message: JSONRPCMessage) => void
    onerror?: (error: Error) => void
    onclose?: () => void
  } = {}
  const emit = (message: object): void => listeners.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage)
  const initialized = {
    result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "memory", version: "1" } }
  }
  let closes = 0
  const transport = Object.assign(listeners, {
    start: () => Promise.resolve(),
    close: () => {
      closes++
      listeners.onclose?.()
      return Promise.resolve()
    },
    send: (message: JSONRPCMessage) => {
      sent.push(message)
      if (!("method" in message) || !("id" in message)) return Promise.resolve()
      const answer =
        answers(message.method, message.params ?? {}) ?? (message.method === "initialize" ? initialized : undefined)
      if (answer !== undefined && answer !== "nothing") queueMicrotask(() => emit({ id: message.id, ...answer }))
      return Promise.resolve()
    }
  })
  const methods = () => sent.flatMap(({ method }) => (method === undefined ? [] : [method]))
  return { way: { lost, transport }, lost, listeners, emit, methods, closes: () => closes }
})

const tool = (name: string, over: Record<string, unknown> = {}) => ({ name, inputSchema: { type: "object" }, ...over })

describe("a connection to a tool server", () => {
  it.effect("reads every page of the list, in order, up to the last or the limit", () =>
    Effect.gen(function* () {
      const listing = Effect.fnUntraced(function* (pages: number, last?: string) {
        const { way } = yield* server((method, { cursor }) => {
          if (method !== "tools/list") return undefined
          const page = cursor === undefined ? 0 : Number(cursor)
          const nextCursor = page + 1 < pages ? String(page + 1) : last
          return { result: { tools: [tool(`t${page}`)], ...(nextCursor === undefined ? {} : { nextCursor }) } }
        })
        return yield* Effect.flatMap(Connection.make(way), ({ list }) => list)
      })
      const names = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`)
      for (const last of [undefined, ""]) {
        const { isCut, tools } = yield* listing(3, last)
        assert.deepStrictEqual([isCut, tools.map(({ name }) => name)], [false, names(3)])
      }
      const most = yield* listing(64)
      assert.deepStrictEqual([most.isCut, most.tools.length], [false, 64])
      const more = yield* listing(65)
      assert.deepStrictEqual([more.isCut, more.tools.map(({ name }) => name)], [true, names(64)])
    }).pipe(Effect.scoped)
  )

  it.effect("reads a limited number of bytes of the list", () =>
    Effect.gen(function* () {
      const mebibyte = "x".repeat(1_048_576)
      const { way } = yield* server((method, { cursor }) => {
        if (method !== "tools/list") return undefined
        const page = cursor === undefined ? 0 : Number(cursor)
        return { result: { tools: [tool(`t${page}`, { description: mebibyte })], nextCursor: String(page + 1) } }
      })
      const { isCut, tools } = yield* Effect.flatMap(Connection.make(way), ({ list }) => list)
      // Names and schemas are some bytes too.
      assert.deepStrictEqual([isCut, tools.length], [true, 31])
    }).pipe(Effect.scoped)
  )

  it.effect("describes a tool by its description, or else by its title; a server without tools is not called", () =>
    Effect.gen(function* () {
      const tools = [tool("a", { description: "does a", title: "A" }), tool("b", { title: "B" }), tool("c")]
      const all = yield* server((method) => (method === "tools/list" ? { result: { tools } } : undefined))
      const { list } = yield* Connection.make(all.way)
      assert.deepStrictEqual(
        (yield* list).tools.map(({ description }) => description),
        ["does a", "B", undefined]
      )
      const none = yield* server(() => undefined, {})
      const connection = yield* Connection.make(none.way)
      assert.deepStrictEqual(yield* connection.list, { tools: [], isCut: false })
      assert.notInclude(none.methods(), "tools/list")
    }).pipe(Effect.scoped)
  )

  it.effect("distinguishes a refusal of the server from a call with an unknown outcome", () =>
    Effect.gen(function* () {
      const { lost, way } = yield* server((method, { name }) => {
        if (method !== "tools/call") return undefined
        if (name === "ok") return { result: { content: [{ type: "text", text: "done" }] } }
        if (name === "refused") return { error: { code: -32_602, message: "the moon" } }
        return name === "broken" ? { error: { code: Connection.BROKE_OFF, message: "it broke off" } } : undefined
      })
      const { call } = yield* Connection.make(way)
      assert.deepInclude(yield* call("ok", {}), { content: [{ type: "text", text: "done" }] })
      const refused = yield* Effect.flip(call("refused", {}))
      assert.isTrue(refused.isRefusal)
      assert.include(refused.message, "the moon")
      assert.isFalse((yield* Effect.flip(call("broken", {}))).isRefusal)
      const hanging = yield* Effect.forkChild(Effect.flip(call("hangs", {})), { startImmediately: true })
      yield* Deferred.succeed(lost, "its process ended")
      const { isRefusal, message } = yield* Fiber.join(hanging)
      assert.deepStrictEqual({ isRefusal, message }, { isRefusal: false, message: "its process ended" })
    }).pipe(Effect.scoped)
  )

  it.effect("reports a changed list, and an error, once", () =>
    Effect.gen(function* () {
      const { listeners, emit, way } = yield* server(() => undefined)
      const { changed, doubts } = yield* Connection.make(way)
      for (let n = 0; n < 3; n++) emit({ method: "notifications/tools/list_changed" })
      for (let n = 0; n < 3; n++) listeners.onerror?.(new Error("stray"))
      yield* Queue.take(changed)
      yield* Queue.take(doubts)
      yield* Effect.yieldNow
      assert.deepStrictEqual([yield* Queue.size(changed), yield* Queue.size(doubts)], [0, 0])
    }).pipe(Effect.scoped)
  )

  it.effect("Connection.C1: ends when the server closes it, with the reason; the scope's end closes it", () =>
    Effect.gen(function* () {
      const { closes, listeners, way } = yield* server(() => undefined)
      const scope = yield* Scope.make()
      const { lost, ping } = yield* Scope.provide(Connection.make(way), scope)
      listeners.onclose?.()
      assert.strictEqual(yield* lost, "it closed the connection")
      assert.isFalse((yield* Effect.flip(ping)).isRefusal)
      yield* Scope.close(scope, Exit.void)

      const other = yield* server(() => undefined)
      yield* Effect.scoped(Connection.make(other.way))
      assert.deepStrictEqual([closes() <= 1, other.closes()], [true, 1])
    })
  )

  it.effect("fails to start with the reason of the transport's end", () =>
    Effect.gen(function* () {
      const dead = yield* server((method) => (method === "initialize" ? "nothing" : undefined))
      yield* Deferred.succeed(dead.lost, "exit code 3")
      assert.strictEqual((yield* Effect.flip(Connection.make(dead.way))).message, "exit code 3")
    }).pipe(Effect.scoped)
  )
})
