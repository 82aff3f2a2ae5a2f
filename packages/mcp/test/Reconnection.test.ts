/** Tests when a tool server's HTTP stream is opened again, on a fake network and fake timers. */
import { afterEach, assert, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as StreamableHttp from "../src/transport/StreamableHttp.ts"

afterEach(() => void vi.unstubAllGlobals())

/** The delays before each of the first openings but one of a stream that ends, and then cannot be opened. */
const delaysOf = (openings: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.gen(function* () {
    const delays: Array<number> = []
    let opened = 0
    const done = Promise.withResolvers<void>()
    vi.stubGlobal("fetch", (_: unknown, init: RequestInit) => {
      if (init.method === "POST") return Promise.resolve(new Response(null, { status: 202 }))
      if (++opened === openings) done.resolve()
      if (opened > 1) return Promise.reject(new TypeError("fetch failed"))
      return Promise.resolve(new Response("", { headers: { "content-type": "text/event-stream" } }))
    })
    vi.stubGlobal("setTimeout", (resume: () => void, ms: number) => {
      if (opened >= openings) return
      delays.push(ms)
      return setImmediate(resume)
    })
    const { transport } = yield* StreamableHttp.make({ type: "http", url: "http://tools.test/mcp", headers: {} })
    yield* Effect.promise(() => transport.start())
    yield* Effect.promise(() => transport.send({ jsonrpc: "2.0", method: "notifications/initialized" }))
    yield* Effect.promise(() => done.promise)
    return delays
  }).pipe(Effect.scoped)

it.effect("a stream that breaks is opened again after growing delays, without a limit", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* delaysOf(9), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })
)

it.effect(
  "StreamableHttp.H5: opening a stream costs 500 messages, so the 101st at once waits until the rate allows it",
  () =>
    Effect.gen(function* () {
      const delays = yield* delaysOf(102)
      assert.lengthOf(
        delays.slice(0, 99).filter((ms) => ms < 1_000),
        0
      )
      assert.deepStrictEqual(delays.slice(99, 102), [30_000, 100, 30_000])
    })
)
