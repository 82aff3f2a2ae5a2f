/** The model's own members, and which events are content. The real SDK is in `runtimes/src/bridges/`. */
import { assert, describe, it } from "vitest"
import { holdfast } from "../src/index.ts"

const AT_ONCE = { schedule: { type: "steps", delays: ["0 millis"], tail: "1 millis" }, maxRetries: 1 } as const

const overloaded = () => Object.assign(new Error("Overloaded"), { status: 529 })

/** A model with private fields, as the SDK's are. Its first attempt fails behind `events`. */
class Model {
  readonly #name = "m"
  readonly supportsPromptModelSelection = true
  readonly events: ReadonlyArray<object>
  readonly requests: Array<object> = []
  constructor(events: ReadonlyArray<object>) {
    this.events = events
  }
  get name() {
    return this.#name
  }
  describe() {
    return this.#name
  }
  async getResponse(request: object) {
    if (this.requests.push(request) === 1) throw overloaded()
    return { model: this.#name }
  }
  async *getStreamedResponse(request: object) {
    if (this.requests.push(request) === 1) {
      yield* this.events
      throw overloaded()
    }
    yield { type: "response_done", model: this.#name }
  }
}

const model = (event: object) => ({ type: "model", event })
const chunk = (delta: object) => model({ choices: [{ delta, finish_reason: null }] })

const attempts = async (event: object): Promise<number> => {
  const inner = new Model([{ type: "response_started" }, event])
  try {
    for await (const _ of holdfast(inner, { retry: AT_ONCE }).getStreamedResponse({})) continue
  } catch {
    // After content.
  }
  return inner.requests.length
}

describe("events of a response", () => {
  it.each([
    { type: "output_text_delta", delta: "It" },
    model({ type: "response.function_call_arguments.delta", delta: "{" }),
    model({ type: "reasoning-delta" }),
    model({ type: "content_block_delta", delta: { type: "thinking_delta", thinking: "Well" } }),
    chunk({ content: "It" }),
    chunk({ role: "assistant", tool_calls: [{ index: 0 }] }),
    chunk({ reasoning: "Well" }),
    chunk({ images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] }),
    model({ type: "file", mediaType: "image/png", data: "AAAA" }),
    model({ type: "tool-call", toolCallId: "c", toolName: "look", input: "{}" }),
    model({ type: "response.output_item.done", item: { type: "function_call", name: "look", arguments: "{}" } }),
    model({ type: "response.image_generation_call.partial_image", partial_image_b64: "AAAA" }),
    model({ type: "response.output_item.done", item: { type: "image_generation_call", result: "AAAA" } })
  ])("rule D4: nothing is called again behind %j", async (event) => {
    assert.strictEqual(await attempts(event), 1)
  })

  it.each([
    { type: "output_text_delta", delta: "" },
    model({ type: "response.in_progress" }),
    model({ type: "response.output_text.delta", delta: "" }),
    model({ type: "text-delta", delta: "" }),
    model({ type: "tool-input-end", id: "c" }),
    model({ type: "response.output_item.added", item: { type: "function_call", name: "look", arguments: "" } }),
    model({ type: "response.output_item.done", item: { type: "reasoning", summary: [] } }),
    model({ type: "response.output_item.added", item: { type: "image_generation_call", result: null } }),
    chunk({ role: "assistant", content: "", refusal: null, tool_calls: [] }),
    chunk({})
  ])("rule C8: %j is no content", async (event) => {
    assert.strictEqual(await attempts(event), 2)
  })
})

describe("a patient model", () => {
  it("passes a file on as it came", async () => {
    const file = model({ type: "file", mediaType: "image/png", data: "AAAA" })
    const inner = new Model([file, { type: "response_done" }])
    const seen: Array<unknown> = []
    try {
      for await (const event of holdfast(inner, { retry: AT_ONCE }).getStreamedResponse({})) seen.push(event)
    } catch {
      // Behind its end.
    }
    assert.strictEqual(seen[0], file)
  })

  it("keeps the members of the model, private fields too", async () => {
    const patient = holdfast(new Model([]), { retry: AT_ONCE })
    assert.instanceOf(patient, Model)
    assert.deepStrictEqual([patient.name, patient.describe(), patient.supportsPromptModelSelection], ["m", "m", true])
    assert.deepStrictEqual(await patient.getResponse({}), { model: "m" })
  })

  it("rule C9: asks for no retries of the client, by the object that the runner counts usage by", async () => {
    const inner = new Model([])
    const _internal = { traced: true }
    await holdfast(inner, { retry: AT_ONCE }).getResponse({ input: "Hello", _internal })
    for (const request of inner.requests) assert.strictEqual(Reflect.get(request, "_internal"), _internal)
    assert.deepStrictEqual(_internal, { traced: true, runnerManagedRetry: true } as object)
  })

  it("is what a patient provider of models gives", async () => {
    const provider = holdfast({ getModel: (_name?: string) => new Model([]) }, { retry: AT_ONCE })
    assert.deepStrictEqual(await (await provider.getModel("m")).getResponse({}), { model: "m" })
  })
})
