import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

const turnOfTheLoop = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const withConversation = Effect.gen(function* () {
  const server = yield* TestServer.start()
  const created = yield* server.call({ path: "/v1/conversations", method: "POST" }) // without a body
  return { server, path: `/v1/conversations/${JSON.parse(created.text).conversationId}` }
})

It.effect("rule X4: a command that is not on disk yet has no answer; at a shutdown it becomes a problem", function* () {
  const { path, server } = yield* withConversation
  server.conversations.broken.holdsCommands = true
  const calls = yield* Effect.forEach(["abort", "retry-now"], (command) =>
    Effect.forkScoped(server.call({ path: `${path}/${command}`, method: "POST" }), { startImmediately: true })
  )
  yield* Effect.repeat(turnOfTheLoop, { until: () => server.conversations.calls.length === 2 })
  for (const call of calls) expect(call.pollUnsafe()).toBeUndefined()
  yield* server.drain.end
  for (const call of calls) {
    const { status, text } = yield* Fiber.join(call)
    expect(status).toBe(503)
    expect(JSON.parse(text)).toMatchObject({ type: "/docs#problem-shutting-down" })
    expect(text).toContain("not on disk")
  }
})

It.effect("rule X4: a command that cannot be written is a problem", function* () {
  const { path, server } = yield* withConversation
  server.conversations.broken.storage = true
  for (const command of ["abort", "retry-now"]) {
    const { status, text } = yield* server.call({ path: `${path}/${command}`, method: "POST" })
    expect(status).toBe(503)
    expect(JSON.parse(text)).toMatchObject({ type: "/docs#problem-storage-unavailable" })
  }
})

It.effect("rule X4: an invalid date as the end of a wait is refused, with what was expected", function* () {
  const { server, path } = yield* withConversation
  for (const until of [1_771_052_400_000_000_000, -1, 253_402_300_800_000, "2026-02-30T00:00:00Z", "tomorrow", true]) {
    const { status, text } = yield* server.call({ path: `${path}/wait-until`, body: { until } })
    expect(status).toBe(400)
    expect(text).toContain("epoch milliseconds")
    expect(text).toContain("RFC 3339")
  }
  for (const until of [1_771_052_400_000, "2026-02-14T08:00:00+01:00"]) {
    expect((yield* server.call({ path: `${path}/wait-until`, body: { until } })).status).toBe(202)
  }
})
