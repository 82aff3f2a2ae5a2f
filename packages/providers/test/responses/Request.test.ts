import { describe, expect, it } from "@effect/vitest"
import * as Request from "../../src/responses/Request.ts"
import * as RequestFiles from "../../src/requests/Files.ts"
import { asking, assistant, call, other, own, prompt, tool, user } from "../harness/History.ts"

const proof = JSON.stringify({ id: "rs_1", encrypted_content: "gAAAA" })

describe("responses/Request", () => {
  it("asks for a stream that is not stored, with encrypted reasoning and the system prompt as instructions", () => {
    expect(Request.make(asking([user("Hi")], { system: "Be kind" }), {})).toEqual({
      model: "m",
      instructions: "Be kind",
      input: [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }],
      include: ["reasoning.encrypted_content"],
      store: false,
      stream: true
    })
  })

  it("a generated image goes back to its model as the item that it came in, and to another as an input image", () => {
    const image = { type: "file", mediaType: "image/webp", data: "AAAA", proof: '{"id":"ig_1"}' } as const
    const input = (...parts: Parameters<typeof assistant>) => Request.make(asking([assistant(...parts)]), {}).input
    expect(input(own, image)).toEqual([
      { type: "image_generation_call", id: "ig_1", status: "completed", result: "AAAA" }
    ])
    const url = "data:image/webp;base64,AAAA"
    const given = [
      { type: "input_text", text: "You made:" },
      { type: "input_image", image_url: url, detail: "auto" }
    ]
    expect(input(other, image)).toEqual([{ role: "user", content: given }])
    expect(input(own, { ...image, proof: "{" })).toEqual([{ role: "user", content: given }])
  })

  it("models that do not reason are not asked for encrypted reasoning, which they reject", () => {
    const include = (model: string) =>
      Request.make(asking([user("Hi")], { target: { provider: "p", model } }), {}).include
    for (const model of ["gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "chatgpt-4o-latest"]) {
      expect(include(model), model).toBeUndefined()
    }
    for (const model of ["gpt-5", "gpt-5.1-codex", "o4-mini", "gpt-oss-120b"])
      expect(include(model), model).toBeDefined()
  })

  it("tools are not strict, options override every field, and null removes a field", () => {
    const inputSchema = { type: "object", properties: { path: { type: "string" } } }
    const body = Request.make(asking([], { tools: [{ name: "read", description: "Reads", inputSchema }] }), {
      body: { reasoning: { summary: "auto" }, include: null },
      modelBody: new Map([["m", { max_output_tokens: 9 }]])
    })
    expect(body).toMatchObject({
      tools: [{ type: "function", name: "read", description: "Reads", parameters: inputSchema, strict: false }],
      reasoning: { summary: "auto" },
      max_output_tokens: 9
    })
    expect(body).not.toHaveProperty("include")
  })

  it("encrypted reasoning goes back to its own model alone, before the call that it led to", () => {
    const history = (target: typeof own) => [
      assistant(target, { type: "reasoning", text: "hm", proof }, { type: "text", text: "Let me see" }, call("a")),
      tool({ toolCallId: "a", output: { n: 1 }, isError: false })
    ]
    const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me see" }] }
    const called = { type: "function_call", call_id: "a", name: "read", arguments: '{"path":"x"}' }
    const result = { type: "function_call_output", call_id: "a", output: '{"n":1}' }
    expect(Request.make(asking(history(own)), {}).input).toEqual([
      { type: "reasoning", id: "rs_1", encrypted_content: "gAAAA", summary: [{ type: "summary_text", text: "hm" }] },
      message,
      called,
      result
    ])
    expect(Request.make(asking(history(other)), {}).input).toEqual([message, called, result])
  })

  it("reasoning without encrypted content, of another adapter, or with nothing after it is left out", () => {
    for (const proof of ["{", "[]", '{"openai":{"itemId":"rs_1"}}', undefined]) {
      const part = { type: "reasoning" as const, text: "hm", ...(proof === undefined ? {} : { proof }) }
      expect(Request.make(asking([assistant(own, part, { type: "text", text: "a" })]), {}).input).toMatchObject([
        { type: "message" }
      ])
    }
    expect(Request.make(asking([assistant(own, { type: "reasoning", text: "hm", proof })]), {}).input).toEqual([])
    expect(Request.proofOf({ id: "rs_1", encrypted_content: null })).toBeUndefined()
    expect(Request.proofOf({ id: "rs_1", encrypted_content: "gAAAA", summary: [] })).toBe(proof)
  })

  it("rule A10: failed calls and malformed arguments are sent back as text and inside valid JSON", () => {
    const { input } = Request.make(
      asking([
        assistant(own, call("a", { input: "{oops", malformed: "no" })),
        tool({ toolCallId: "a", output: "gone", isError: true })
      ]),
      {}
    )
    expect(input).toMatchObject([
      { arguments: '{"malformed_arguments":"{oops"}' },
      { type: "function_call_output", output: "Error: gone" }
    ])
  })

  it("files are input parts, in prompts and in the results of tools", () => {
    const image = { type: "file" as const, mediaType: "image/png", data: "AAAA" }
    const pdf = { type: "file" as const, mediaType: "application/pdf", data: "AAAA", name: "a.pdf" }
    const link = { type: "file" as const, mediaType: "application/pdf", url: "https://x.test/a.pdf" }
    const note = { type: "file" as const, mediaType: "text/plain", data: "SGk=", name: "a.txt" }
    const parts = [
      { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
      { type: "input_file", file_url: "https://x.test/a.pdf" },
      { type: "input_text", text: '<file name="a.txt">\nHi\n</file>' }
    ]
    const picture = { type: "file" as const, mediaType: "image/*", url: "https://x.test/a" }
    expect(Request.make(asking([prompt(image, pdf, link, note, picture)]), {}).input).toEqual([
      { role: "user", content: [...parts, { type: "input_image", image_url: "https://x.test/a", detail: "auto" }] }
    ])
    const result = { toolCallId: "a", output: "[image/png]", isError: false, content: [image] as const }
    expect(Request.make(asking([assistant(own, call("a")), tool(result)]), {}).input).toMatchObject([
      { type: "function_call" },
      { type: "function_call_output", output: [parts[0]] }
    ])
  })

  it("sound and videos are refused before the call", () => {
    for (const mediaType of ["audio/wav", "video/mp4"]) {
      const file = { type: "file" as const, mediaType, data: "AAAA" }
      expect(RequestFiles.refusalOf(asking([prompt(file)]), Request.refuses)?.failure).toMatchObject({
        reason: "bad-request",
        message: expect.stringContaining("Responses API")
      })
    }
    const text = { type: "file" as const, mediaType: "text/plain", url: "https://x.test/a.txt" }
    expect(RequestFiles.refusalOf(asking([prompt(text)]), Request.refuses)).toBeDefined()
  })
})
