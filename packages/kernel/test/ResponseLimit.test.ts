/** C11: a response is bounded as a whole, and its tool arguments in their depth, for any provider. */
import { assert, describe, it } from "@effect/vitest"
import { Property, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { JsonShape, type Message } from "@holdfast/wire"
import { Effect, type Schema } from "effect"
import * as fc from "fast-check"
import { Content } from "../src/internal/calls/Content.ts"
import type { ProviderEvent } from "../src/ports/Provider.ts"
import * as ResponseLimit from "../src/calls/ResponseLimit.ts"

const { bothWays, settle } = Scenario
const { answer, call, finish, text, tools } = ScriptedProvider
const { PART_CHARACTERS } = ResponseLimit

const strategy = TestStrategy.make

const reasoning = (delta: string): ProviderEvent => ({ type: "reasoning-delta", delta })

const nested = (levels: number): Schema.Json => {
  let value: Schema.Json = 1
  for (let level = 1; level < levels; level++) value = [value]
  return { value }
}

/** A toolbox that keeps what it ran, and answers with `output`. */
const recording = (ran: Array<Schema.Json>, output: Schema.Json = "done") => ({
  definitions: [],
  run: ({ input }: Message.ToolCallPart) => Effect.sync(() => (ran.push(input), { output, isError: false }))
})

describe("a response beyond its limit", () => {
  const limits = { maxResponseCharacters: 100 + 3 * PART_CHARACTERS }
  const beyond: ReadonlyArray<readonly [string, ReadonlyArray<ProviderEvent>]> = [
    ["text", Array.from({ length: 40 }, () => text("12345678"))],
    ["reasoning", Array.from({ length: 40 }, () => reasoning("12345678"))],
    ["signatures", Array.from({ length: 10 }, () => ({ type: "reasoning-end", signature: "12345678" }) as const)],
    ["tool arguments", [call("a", "1", { text: "x".repeat(300) })]],
    ["a file", [{ type: "file", mediaType: "image/png", data: "AAAA".repeat(100) }]],
    ["many small tool calls", Array.from({ length: 10 }, (_, i) => call("a", String(i)))],
    ["text, reasoning and arguments together", [text("x".repeat(50)), reasoning("y".repeat(50)), call("a")]]
  ]
  for (const [what, events] of beyond) {
    bothWays(`rule C11: ${what} beyond the limit fail the attempt, which is not retried`, (start) =>
      Effect.gen(function* () {
        const ran: Array<Schema.Json> = []
        const script = { reads: [[...events, finish]], end: Effect.void }
        const run = yield* start({ scripts: [script], strategy: strategy(), limits, toolbox: recording(ran) })
        const end = yield* settle(run)
        assert.strictEqual(end.status, "failed")
        assert.deepInclude(end.error, { reason: "invalid-response", retryable: false })
        assert.include(end.error?.message, String(limits.maxResponseCharacters))
        assert.strictEqual(run.provider.requests.length, 1)
        assert.deepStrictEqual(ran, [])
        assert.strictEqual(run.provider.requests[0]?.maxResponseCharacters, limits.maxResponseCharacters)
      })
    )
  }

  bothWays("rule C11: content within the limit is shown and kept, and nothing beyond it", (start) =>
    Effect.gen(function* () {
      const script = { reads: [[text("a".repeat(200))], [text("b".repeat(200))], [finish]], end: Effect.void }
      const run = yield* start({ scripts: [script], strategy: strategy(), limits })
      yield* settle(run)
      assert.strictEqual(run.sink.shown, "a".repeat(200))
      const [, message] = run.sink.of("message").map((event) => event.message)
      assert.deepStrictEqual<unknown>(message?.content, [{ type: "text", text: "a".repeat(200) }])
    })
  )

  bothWays("rule C11: the deltas of one read that fit are shown and kept", (start) =>
    Effect.gen(function* () {
      const most = limits.maxResponseCharacters - PART_CHARACTERS
      const fitting = [text("a"), text("b".repeat(most - 2)), text("c")]
      const script = { reads: [[...fitting, text("d"), text("e"), finish]], end: Effect.void }
      const run = yield* start({ scripts: [script], strategy: strategy(), limits })
      assert.strictEqual((yield* settle(run)).error?.reason, "invalid-response")
      assert.strictEqual(run.sink.shown, `a${"b".repeat(most - 2)}c`)
      assert.deepStrictEqual<unknown>(run.sink.of("message").at(-1)?.message.content, [
        { type: "text", text: run.sink.shown }
      ])
    })
  )

  bothWays("rule C11: a response of exactly the limit is whole", (start) =>
    Effect.gen(function* () {
      const script = answer("a".repeat(50), "b".repeat(50 + 2 * PART_CHARACTERS))
      const run = yield* start({ scripts: [script], limits })
      assert.strictEqual((yield* settle(run)).status, "completed")
    })
  )

  it("rule C11: each part counts as its characters and a fixed number of them", () => {
    const bare = { ...call("search", "id"), input: { q: "x" } }
    const callSize = "search".length + "id".length + JsonShape.measure(bare.input, Infinity).characters
    const image = { type: "file", mediaType: "image/png" } as const
    const sizes: ReadonlyArray<readonly [number, (content: Content) => boolean]> = [
      [5, (content) => content.delta("text", "12345")],
      [5, (content) => content.fits("text", 5)],
      [0, (content) => content.endReasoning({})],
      [6, (content) => content.endReasoning({ signature: "1", redacted: "23", proof: "456" })],
      [8, (content) => content.file({ ...image, data: "12345678" })],
      [12, (content) => content.file({ ...image, url: "https://a", proof: "123" })],
      [callSize, (content) => content.toolCall(bare)],
      [callSize + 3, (content) => content.toolCall({ ...bare, proof: "123" })]
    ]
    for (const [size, add] of sizes) {
      assert.isTrue(add(new Content(PART_CHARACTERS + size)), String(add))
      assert.isFalse(add(new Content(PART_CHARACTERS + size - 1)), String(add))
    }
  })

  it("rule C11: without a limit of its own a response has 16 Mi characters", () => {
    const content = new Content()
    const mebi = "x".repeat(1024 * 1024)
    for (let i = 0; i < 15; i++) assert.isTrue(content.delta("text", mebi))
    assert.isTrue(content.delta("text", mebi.slice(PART_CHARACTERS)))
    assert.isFalse(content.delta("text", "x"))
  })
})

describe("tool arguments that are nested too deeply", () => {
  for (const levels of [JsonShape.MOST_LEVELS + 1, 5_000]) {
    bothWays(`rule C11, A10: a call of ${levels} levels is answered as malformed and never runs`, (start) =>
      Effect.gen(function* () {
        const ran: Array<Schema.Json> = []
        const scripts = [tools({ ...call("search"), input: nested(levels) }), answer("ok")]
        const run = yield* start({ scripts, strategy: strategy(), toolbox: recording(ran) })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.deepStrictEqual(ran, [])
        const [result] = run.sink.of("tool-result")
        assert.isTrue(result?.isError)
        assert.include(result?.output, "nested deeper than 200 levels")
        assert.include(result?.output, '{"value":[[[')
      })
    )
  }

  it("rule C11: a part without characters counts as 64", () => {
    const content = new Content(128)
    assert.deepStrictEqual(
      Array.from({ length: 3 }, () => content.endReasoning({})),
      [true, true, false]
    )
  })

  it("rule C11: cyclic arguments are kept to 64 Ki characters", () => {
    const input: { [key: string]: Schema.Json } = {}
    input["a"] = input
    const content = new Content()
    assert.isTrue(content.toolCall({ ...call("search"), input }))
    const [part] = content.parts()
    assert.isTrue(part?.type === "tool-call" && part.malformed !== undefined && typeof part.input === "string")
    const { length } = part?.type === "tool-call" && typeof part.input === "string" ? part.input : ""
    assert.isAtLeast(length, 65_536)
    assert.isBelow(length, 65_536 + 100)
  })

  bothWays("rule C11: a call of 200 levels runs with the model's arguments", (start) =>
    Effect.gen(function* () {
      const ran: Array<Schema.Json> = []
      const input = nested(JsonShape.MOST_LEVELS)
      const scripts = [tools({ ...call("search"), input }), answer("ok")]
      const run = yield* start({ scripts, toolbox: recording(ran) })
      assert.strictEqual((yield* settle(run)).status, "completed")
      assert.deepStrictEqual(ran, [input])
    })
  )

  bothWays("rule C11: an output of 5,000 levels is answered as a failure of the tool", (start) =>
    Effect.gen(function* () {
      const scripts = [tools(call("search")), answer("ok")]
      const run = yield* start({ scripts, toolbox: recording([], nested(5_000)) })
      assert.strictEqual((yield* settle(run)).status, "completed")
      const [result] = run.sink.of("tool-result")
      assert.isTrue(result?.isError)
      assert.include(result?.output, "its output is nested deeper than 200 levels")
    })
  )
})

describe("the first content of an attempt", () => {
  Property.prop(
    "rule X2: a first delta of any length leaves a mark: after a crash it is voided by `step-discarded`",
    fc.tuple(fc.constantFrom("text-delta", "reasoning-delta"), fc.string({ minLength: 1, maxLength: 3 })),
    ([type, delta]) =>
      Effect.gen(function* () {
        let isFirst = true
        const start = Scenario.dying((name) => {
          const dies = isFirst && /\/attempt\/\d+$/.test(name)
          if (dies) isFirst = false
          return dies
        })
        const script = { reads: [[{ type, delta }], [finish]], end: Effect.void }
        const run = yield* start({ scripts: [script, script] })
        assert.strictEqual((yield* settle(run)).status, "completed")
        assert.deepStrictEqual(run.sink.types.slice(2, 7), ["step-start", type, "step-discarded", "step-start", type])
      })
  )

  bothWays("a block of reasoning keeps its text, its signature and its redacted data, whichever there are", (start) =>
    Effect.gen(function* () {
      const events: ReadonlyArray<ProviderEvent> = [
        reasoning("a"),
        { type: "reasoning-end", signature: "s" },
        { type: "reasoning-end", redacted: "r" },
        text("between"),
        { type: "reasoning-end", signature: "t", redacted: "u" },
        reasoning("b"),
        { type: "reasoning-end" },
        finish
      ]
      const run = yield* start({ scripts: [{ reads: [events], end: Effect.void }] })
      yield* settle(run)
      assert.deepStrictEqual<unknown>(run.sink.of("message")[1]?.message.content, [
        { type: "reasoning", text: "a", signature: "s" },
        { type: "reasoning", text: "", redacted: "r" },
        { type: "text", text: "between" },
        { type: "reasoning", text: "", signature: "t", redacted: "u" },
        { type: "reasoning", text: "b" }
      ])
    })
  )
})
