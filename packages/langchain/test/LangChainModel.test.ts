/** How a model is read and wrapped. The real LangChain is in `runtimes/src/bridges/`. */
import { assert, describe, it, vi } from "vitest"
import * as LangChainModel from "../src/LangChainModel.ts"
import { HeldTokens } from "../src/LangChainModel.ts"
import { holdfast } from "../src/index.ts"

const AT_ONCE = { schedule: { type: "steps", delays: ["0 millis"], tail: "1 millis" }, maxRetries: 2 } as const

const overloaded = () => Object.assign(new Error("Overloaded"), { status: 529 })

class Client {
  maxRetries = 2
}

/** LangChain's base class, as far as it matters: the methods that stream by others, or not at all. */
class Base {
  caller = { __proto__: {}, maxRetries: 6 }
  fields = { maxRetries: 6 }
  calls: Array<object> = []
  _llmType() {
    return "openai"
  }
  async _generate(_messages: unknown, options: object): Promise<unknown> {
    if (this.calls.push(options) === 1) throw overloaded()
    return { text: "It rains." }
  }
  async *_streamResponseChunks(_messages: unknown, _options: object): AsyncGenerator<object> {
    throw new Error("Not implemented.")
  }
  _generateUncached() {}
  withConfig(_config: object): Base {
    return new Base()
  }
}

const collect = async (elements: AsyncIterable<unknown>) => {
  const seen: Array<unknown> = []
  for await (const element of elements) seen.push(element)
  return seen
}

describe("a patient chat model", () => {
  it("rule C9: sets the retries under it to 0, and keeps the arguments that it was made from", async () => {
    const model = new Base()
    assert.deepStrictEqual(await holdfast(model, { retry: AT_ONCE })._generate([], {}), { text: "It rains." })
    assert.strictEqual(model.caller.maxRetries, 0)
    assert.strictEqual(model.fields.maxRetries, 6)
    for (const options of model.calls) assert.strictEqual(Reflect.get(options, "maxRetries"), 0)
  })

  it("rule C9: a warning names a client that makes retries of its own", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {})
    holdfast(Object.assign(new Base(), { client: new Client() }))
    assert.match(String(warn.mock.calls[0]), /"client" of Base makes 2 retries of its own/)
    warn.mockRestore()
  })

  it("stays patient when it is configured, and is made patient once", async () => {
    const patient = holdfast(new Base(), { retry: AT_ONCE })
    assert.strictEqual(holdfast(patient), patient)
    assert.deepStrictEqual(await patient.withConfig({})._generate([], {}), { text: "It rains." })
  })

  it("rule D4: passes a file on as it came, and nothing is called again behind it", async () => {
    const file = { text: "", message: { content: [{ type: "image_url", image_url: { url: "https://a.example/b" } }] } }
    let calls = 0
    class Drawing extends Base {
      override async *_streamResponseChunks(_messages: unknown, _options: object) {
        calls++
        yield file
        throw overloaded()
      }
    }
    const seen: Array<unknown> = []
    const read = async () => {
      for await (const chunk of holdfast(new Drawing(), { retry: AT_ONCE })._streamResponseChunks([], {}))
        seen.push(chunk)
    }
    await read().catch(() => {})
    assert.deepStrictEqual([calls, seen.length, seen[0] === file], [1, 1, true])
  })

  it("leaves the methods of LangChain's own class, which tell that a model cannot stream", () => {
    assert.strictEqual(holdfast(new Base())._streamResponseChunks, Base.prototype._streamResponseChunks)
  })

  it.each([
    ["openai", [{ text: "It" }], "ended before it was finished"],
    ["openai", [{ text: "It", generationInfo: { finish_reason: "stop" } }], undefined],
    ["other", [{ text: "It" }], undefined],
    ["other", [{ text: "" }], "ended before it was finished"]
  ])("rule C6: a stream of %s with %j ends with %s", async (kind, chunks, expected) => {
    class Streaming extends Base {
      override _llmType() {
        return kind
      }
      override async *_streamResponseChunks(_messages: unknown, _options: object) {
        yield* chunks
      }
    }
    let message: string | undefined
    const stream = holdfast(new Streaming(), { retry: AT_ONCE })._streamResponseChunks([], {})
    await collect(stream).catch((error: Error) => (message = error.message))
    if (expected === undefined) assert.isUndefined(message)
    else assert.include(message, expected)
  })
})

describe("chunks", () => {
  it.each([
    { text: "It" },
    { message: { content: [{ type: "text", text: "It" }] } },
    { message: { content: [{ type: "thinking" }] } },
    { message: { content: "", tool_call_chunks: [{}] } },
    { message: { content: "", additional_kwargs: { reasoning_content: "Well" } } },
    { message: { content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] } },
    { message: { content: "", additional_kwargs: { tool_outputs: [{ type: "image_generation_call" }] } } }
  ])("rule D4: %j is content", (chunk) => {
    assert.isTrue(LangChainModel.isContentChunk(chunk))
  })

  it.each([
    { text: "", message: { content: "", tool_call_chunks: [], additional_kwargs: { id: "msg_1", model: "m" } } },
    { message: { content: [{ type: "text", text: "" }] } },
    { message: { content: [], usage_metadata: { input_tokens: 3 } } }
  ])("rule C8: %j is none", (chunk) => {
    assert.isFalse(LangChainModel.isContentChunk(chunk))
  })

  it("rule D4: a file in the events of a response is content", () => {
    const isContent = LangChainModel.CONTENT._streamChatModelEvents
    assert.isTrue(isContent({ event: "content-block-start", content: { type: "image" } }))
    assert.isFalse(isContent({ event: "content-block-start", content: { type: "text" } }))
  })

  it.each([
    [{ generationInfo: { finish_reason: "stop" } }, true],
    [{ message: { additional_kwargs: { stop_reason: "end_turn" } } }, true],
    [{ message: { response_metadata: { status: "in_progress" } } }, false],
    [{ message: { response_metadata: { status: "completed" } } }, true],
    [{ message: { additional_kwargs: { stop_reason: null } } }, false],
    [{ event: "message-finish" }, false],
    [{ event: "message-finish", reason: "stop" }, true]
  ])("%j ends its response: %s", (chunk, expected) => {
    assert.strictEqual(LangChainModel.isEnd(chunk), expected)
  })
})

describe("callbacks", () => {
  it("rule D4: get no token of an attempt before its content, and then all of them", async () => {
    const told: Array<string> = []
    const manager = { runId: "r", handleLLMNewToken: async (token: string) => void told.push(token) }
    const tokens = new HeldTokens(manager)
    const held = tokens.runManager as typeof manager
    assert.strictEqual(held.runId, "r")
    await held.handleLLMNewToken("")
    assert.deepStrictEqual([told, tokens.isShown], [[], false])
    await held.handleLLMNewToken("It")
    await held.handleLLMNewToken("")
    assert.deepStrictEqual([told, tokens.isShown], [["", "It", ""], true])
  })
})
