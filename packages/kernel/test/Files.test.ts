/** Files in prompts and in results of tools. */
import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Effect, Schema } from "effect"
import * as Summary from "../src/internal/calls/Summary.ts"
import { ToolResult } from "../src/records/Records.ts"
import * as Tool from "../src/ports/Tool.ts"

const { answer, call, tools } = ScriptedProvider

const png = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" } as const
const prompt = [{ type: "text", text: "What is it?" }, png] as const

const screenshot = Tool.make({
  name: "read",
  input: Schema.Struct({}),
  run: () => Effect.succeed(Tool.content(["The page:", png]))
})

Scenario.bothWays("a prompt with files is in its message and in every request, as it came", (start) =>
  Effect.gen(function* () {
    const run = yield* start({ scripts: [answer("A chart.")], prompt })
    assert.strictEqual((yield* Scenario.settle(run)).status, "completed")
    const [message] = run.sink.of("message")
    assert.deepStrictEqual(message?.message.content, prompt)
    assert.deepStrictEqual(run.provider.requests[0]?.messages[0], message?.message)
  })
)

Scenario.bothWays("files of a result are in its message and in the next request, and not in its event", (start) =>
  Effect.gen(function* () {
    const toolbox = yield* Tool.toolbox([screenshot])
    const run = yield* start({ scripts: [tools(call("read", "a")), answer("A page.")], toolbox })
    assert.strictEqual((yield* Scenario.settle(run)).status, "completed")
    const result = {
      type: "tool-result",
      toolCallId: "a",
      toolName: "read",
      output: "The page:\n[image image/png 8 bytes]",
      isError: false
    }
    const [event] = run.sink.of("tool-result")
    assert.deepStrictEqual({ ...event }, { ...result, conversationId: "c1", turnId: "t1" })
    const message = run.sink.of("message").find(({ message: { role } }) => role === "tool")?.message
    const content = [{ type: "text", text: "The page:" }, png]
    assert.deepStrictEqual<unknown>(message?.content, [{ ...result, content }])
    assert.deepStrictEqual(run.provider.requests[1]?.messages.at(-1), message)
  })
)

describe("a result of a tool", () => {
  it("with texts alone is its text", () => {
    assert.deepStrictEqual(Tool.outcomeOf(Tool.content(["a", { type: "text", text: "b" }])), {
      output: "a\nb",
      isError: false
    })
  })

  it.effect("with a file that is none is answered with the error", () =>
    Effect.gen(function* () {
      const broken = Tool.make({
        name: "read",
        input: Schema.Struct({}),
        run: () => Effect.try(() => Tool.content([{ ...png, data: "?" }])).pipe(Effect.mapError(({ cause }) => cause))
      })
      const { isError, output } = yield* broken.call({})
      assert.isTrue(isError)
      assert.include(String(output), "expected the file's bytes as base64")
    })
  )

  it.prop("is the same after its record was read", { value: ToolResult }, ({ value }) => {
    const codec = Schema.fromJsonString(Schema.toCodecJson(ToolResult))
    const again = Schema.decodeUnknownSync(codec)(Schema.encodeSync(codec)(value))
    assert.deepStrictEqual(again, Schema.decodeUnknownSync(codec)(Schema.encodeSync(codec)(again)))
    assert.deepStrictEqual(again.content, value.content)
  })
})

it("a summary has a placeholder for each file", () => {
  const user = (n: number, content: typeof prompt) => ({
    role: "user" as const,
    id: `t${n}.0` as never,
    turnId: `t${n}` as never,
    createdAt: n,
    content
  })
  const plan = Summary.plan([user(1, prompt), user(2, prompt)], {})
  const text = plan?.prompt.content[0]
  assert.include(text?.type === "text" ? text.text : "", "User:\nWhat is it?\n\nUser:\n[image image/png 8 bytes]")
})

describe("a file of the model", () => {
  const picture = { ...png, proof: "{}" }
  const read = [ScriptedProvider.text("Here: "), picture, ScriptedProvider.text("Good?"), ScriptedProvider.finish]

  Scenario.bothWays("is emitted whole, and is in the message between the texts around it", (start) =>
    Effect.gen(function* () {
      const run = yield* start({ scripts: [{ reads: [read], end: Effect.void }] })
      assert.strictEqual((yield* Scenario.settle(run)).status, "completed")
      const text = (text: string) => ({ type: "text", text })
      const said = run.sink.of("message").find(({ message: { role } }) => role === "assistant")
      assert.deepStrictEqual<unknown>(said?.message.content, [text("Here: "), picture, text("Good?")])
      for (const { file } of run.sink.of("file")) assert.deepStrictEqual<unknown>(file, picture)
    })
  )

  for (const [what, file] of [
    ["bytes that are not base64", { ...png, data: "?" }],
    ["an impossible media type", { ...png, mediaType: "png" }],
    ["an address that is not https", { type: "file", mediaType: "image/*", url: "http://a.example/b.png" }]
  ] as const) {
    Scenario.bothWays(`with ${what} ends the attempt, which is not retried`, (start) =>
      Effect.gen(function* () {
        const script = { reads: [[file, ScriptedProvider.finish]], end: Effect.void }
        const run = yield* start({ scripts: [script], strategy: TestStrategy.make() })
        const { error, status } = yield* Scenario.settle(run)
        assert.deepInclude({ status, ...error }, { status: "failed", reason: "invalid-response", retryable: false })
        assert.strictEqual(
          error?.message,
          `The response has a file of type "${file.mediaType}" that is not valid: expected a media type such as "image/png", with base64 or an https address.`
        )
        assert.lengthOf(run.provider.requests, 1)
      })
    )
  }
})
