import { assert, describe, it } from "@effect/vitest"
import { Toolbox } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import * as MissingTools from "../../../src/engine/turn/MissingTools.ts"
import type { ToolServers } from "@holdfast/mcp"
import * as ConversationSetup from "../conversation/ConversationSetup.ts"
import * as It from "../../It.ts"

const because = "there is no database"

/** Tool servers; one is down until the test starts it. */
const tools = (isRequired: boolean) => {
  const up = Latch.makeUnsafe()
  let missing: ReadonlyArray<ToolServers.MissingServer> = [{ server: "files", isRequired, because }]
  const tool = { name: "read", inputSchema: {} }
  const run = () => Effect.succeed({ output: "", isError: false })
  const all = {
    toolbox: Effect.succeed({
      get definitions() {
        return missing.length === 0 ? [tool] : []
      },
      run
    }),
    missing: () => missing,
    isComplete: up.await
  }
  const none = { toolbox: Effect.succeed(Toolbox.noop), missing: () => [], isComplete: Effect.void }
  return {
    service: { ...all, names: ["files"], only: (names: ReadonlyArray<string>) => (names.length === 0 ? none : all) },
    comesUp: Effect.suspend(() => {
      missing = []
      return up.open
    })
  }
}

const missingIn = (seen: ReadonlyArray<{ readonly event: TurnEvent.TurnEvent }>) =>
  seen.flatMap(({ event }) => (event.type === "tools-missing" ? [event] : []))

describe("a turn whose tool server is not up", () => {
  it.effect("runs without its tools, with one warning and an event that names the server and the reason", () => {
    const log = It.logged()
    const { service } = tools(false)
    const scripts = [ScriptedProvider.emits(ScriptedProvider.overloaded), ScriptedProvider.answer("ok")]
    return ConversationSetup.withService(
      { scripts, tools: service, retry: ConversationSetup.waits(60) },
      function* ({ conversations }) {
        const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hello" })
        const { fiber, seen, until } = yield* ConversationSetup.watching(conversations.watchTurn(turnId))
        yield* until("provider-retry")
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(fiber)
        const events = missingIn(seen)
        assert.deepStrictEqual(events[0]?.servers, [{ server: "files", message: because }])
        assert.isTrue(events.every(({ until }) => until === undefined))
        const warnings = log.lines.filter((line) => line.includes("without the tools"))
        assert.deepStrictEqual(warnings, [
          `Warn Turn ${turnId} runs without the tools of files (${because}), until it is up.`
        ])
        assert.strictEqual(yield* Effect.map(conversations.result(turnId), ({ end }) => end.status), "completed")
      }
    ).pipe(Effect.provide(log.layer))
  })

  it.effect("is held until a required server is up, then runs; clients that connect meanwhile get the event", () => {
    const log = It.logged()
    const { comesUp, service } = tools(true)
    return ConversationSetup.withService(
      { scripts: [ScriptedProvider.answer("ok")], tools: service },
      function* ({ conversations, provider }) {
        const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hello" })
        yield* TestClock.adjust("9 minutes")
        assert.lengthOf(provider.requests, 0)
        const { fiber, seen, until } = yield* ConversationSetup.watching(conversations.watchTurn(turnId))
        yield* until("tools-missing")
        assert.deepInclude(missingIn(seen)[0], { until: Duration.toMillis(MissingTools.HOLD) })
        assert.isTrue(log.lines.some((line) => line.startsWith(`Warn Turn ${turnId} is held for 10m at most`)))
        yield* comesUp
        yield* TestClock.adjust(0)
        yield* Fiber.join(fiber)
        assert.lengthOf(provider.requests, 1)
        assert.lengthOf(missingIn(seen), 1)
      }
    ).pipe(Effect.provide(log.layer))
  })

  it.effect("is not held for a server whose tools its conversation does not use, and does not get them", () => {
    const { comesUp, service } = tools(true)
    const scripts = Array.from({ length: 4 }, () => ScriptedProvider.answer("ok"))
    return ConversationSetup.withService({ scripts, tools: service }, function* ({ conversations, provider }) {
      const run = Effect.fnUntraced(function* (names?: ReadonlyArray<string>) {
        const turnId = yield* conversations.prompt(yield* conversations.create({ tools: names }), { prompt: "Hello" })
        return yield* ConversationSetup.asking(conversations.result(turnId))
      })
      yield* Fiber.join(yield* run([]))
      const held = yield* run(["files"])
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(provider.requests, 1)
      yield* comesUp
      yield* TestClock.adjust(0)
      yield* Fiber.join(held)
      yield* Fiber.join(yield* run())
      yield* Fiber.join(yield* run([]))
      const offered = provider.requests.map(({ tools = [] }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(offered, [[], ["read"], ["read"], []])
    })
  })

  it.effect("fails if a required server does not come up in time, with the server and the reason", () =>
    ConversationSetup.withService({ scripts: [], tools: tools(true).service }, function* ({ conversations, provider }) {
      const turnId = yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hello" })
      const result = yield* ConversationSetup.asking(conversations.result(turnId))
      yield* TestClock.adjust(MissingTools.HOLD)
      const { error, status } = (yield* Fiber.join(result)).end
      assert.strictEqual(status, "failed")
      const late = `The tools of files (${because}) are required, and were not available within 10m.`
      assert.strictEqual(error?.message, late)
      assert.lengthOf(provider.requests, 0)
    })
  )
})
