/** A step that fails after it has shown content. */
import { assert, describe, it } from "@effect/vitest"
import { Provider } from "@holdfast/kernel"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Effect } from "effect"

const { bothWays, settle } = Scenario
const { answer, badGateway, breaksOff, call, dies, emits, overloaded, text, throws } = ScriptedProvider

const strategy = TestStrategy.make

describe("an error after content", () => {
  for (const [what, event] of [
    ["text", text("Hel")],
    ["reasoning", { type: "reasoning-delta", delta: "Hm" }],
    ["a file", { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" }],
    ["a tool call", call("search")],
    ["usage", { type: "usage", usage: { inputTokens: 1 } }]
  ] as const) {
    it(`rule C8: ${what} is content`, () => {
      assert.isTrue(Provider.isContent(event))
    })

    bothWays(`rule D4: after ${what} no error is retried`, (start) =>
      Effect.gen(function* () {
        for (const script of [
          emits(overloaded, event),
          throws(badGateway, event),
          dies("bug", event),
          breaksOff(event)
        ]) {
          const run = yield* start({ scripts: [script], strategy: strategy() })
          assert.strictEqual((yield* settle(run)).status, "failed")
          assert.strictEqual(run.provider.requests.length, 1)
          assert.deepStrictEqual(run.sink.of("provider-retry"), [])
        }
      }).pipe(Effect.scoped)
    )
  }

  bothWays("rule D4: an empty delta is no content", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [emits(overloaded, text("")), answer("ok")], strategy: strategy() })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  bothWays("rule C7: a tool call of an attempt that broke off never runs", (start) =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const toolbox = {
        definitions: [],
        run: ({ toolName }: { readonly toolName: string }) =>
          Effect.sync(() => (ran.push(toolName), { output: "", isError: false }))
      }
      const run = yield* start({ scripts: [breaksOff(call("rm"))], strategy: strategy(), toolbox })
      yield* settle(run)
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(run.sink.of("tool-call"), [])
    })
  )

  bothWays("rule P12: a failed response stays in the history and leaves the model's context", (start) =>
    Effect.gen(function* () {
      const first = yield* start({ scripts: [emits(overloaded, text("Half an ans"))], strategy: strategy() })
      yield* settle(first)
      const history = first.sink.of("message").map((event) => event.message)
      const failed = history[1]
      assert.isTrue(failed?.role === "assistant" && failed.error?.reason === "overloaded")
      assert.deepStrictEqual(failed?.content as unknown, [{ type: "text", text: "Half an ans" }])

      const second = yield* start({ scripts: [answer("ok")], history, prompt: "Again?" })
      yield* settle(second)
      assert.deepStrictEqual(
        second.provider.requests[0]?.messages.map((message) => message.role),
        ["user", "user"]
      )
    })
  )

  bothWays("rule M1: a manual retry runs the model from the last user message, and adds none", (start) =>
    Effect.gen(function* () {
      const first = yield* start({ scripts: [emits(overloaded, text("Half"))], strategy: strategy() })
      yield* settle(first)
      const history = first.sink.of("message").map((event) => event.message)
      const second = yield* start({ scripts: [answer("Whole")], history, prompt: null })
      yield* settle(second)
      assert.deepStrictEqual(second.provider.requests[0]?.messages, first.provider.requests[0]?.messages)
      assert.deepStrictEqual(
        second.sink.of("message").map((event) => event.message.role),
        ["assistant"]
      )
      assert.isTrue(second.sink.of("turn-start")[0]?.retry)
    })
  )
})
