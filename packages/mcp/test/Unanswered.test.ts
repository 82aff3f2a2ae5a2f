/** Tests an HTTP answer that arrives after its call has failed, on a fake network. */
import { afterEach, assert, it, vi } from "@effect/vitest"
import type { JSONRPCMessage } from "@modelcontextprotocol/client"
import { Effect } from "effect"
import * as StreamableHttp from "../src/transport/StreamableHttp.ts"

afterEach(() => void vi.unstubAllGlobals())

const answer = { jsonrpc: "2.0", id: 1, result: {} } as const
const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" } as const

/** The received messages of a stream with both of these, of which the second is the last. */
const heard = (isRefused: boolean): Effect.Effect<ReadonlyArray<JSONRPCMessage>> =>
  Effect.gen(function* () {
    const events = [answer, changed].map((message) => `data: ${JSON.stringify(message)}\n\n`).join("")
    vi.stubGlobal("fetch", (_: unknown, { body, method }: RequestInit) => {
      if (method === "GET") {
        return Promise.resolve(new Response(events, { headers: { "content-type": "text/event-stream" } }))
      }
      return isRefused && String(body).includes("tools/call")
        ? Promise.reject(new TypeError("fetch failed"))
        : Promise.resolve(new Response(null, { status: 202 }))
    })
    const { transport } = yield* StreamableHttp.make({ type: "http", url: "http://tools.test/mcp", headers: {} })
    const messages: Array<JSONRPCMessage> = []
    const last = Promise.withResolvers<void>()
    Object.assign(transport, {
      onmessage: (message: JSONRPCMessage) => {
        messages.push(message)
        if ("method" in message) last.resolve()
      }
    })
    yield* Effect.promise(() => transport.start())
    const call = Effect.promise(() =>
      transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call" }).then(String, String)
    )
    assert.strictEqual(yield* call, isRefused ? "TypeError: fetch failed" : "undefined")
    yield* Effect.promise(() => transport.send({ jsonrpc: "2.0", method: "notifications/initialized" }))
    yield* Effect.promise(() => last.promise)
    return messages
  }).pipe(Effect.scoped)

it.effect("an answer on the server's own stream is received, and none to a call that has failed", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* heard(false), [answer, changed])
    assert.deepStrictEqual(yield* heard(true), [changed])
  })
)
