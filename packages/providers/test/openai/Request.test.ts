import { describe, expect, it } from "@effect/vitest"
import * as Request from "../../src/openai/Request.ts"
import { asking, assistant, call, other, own, tool, user } from "../harness/History.ts"

describe("openai/Request", () => {
  it("asks for a stream with usage, and puts the system prompt first", () => {
    expect(Request.make(asking([user("Hi")], { system: "Be kind" }), {})).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be kind" },
        { role: "user", content: "Hi" }
      ],
      stream: true,
      stream_options: { include_usage: true }
    })
  })

  it("tools are sent as JSON Schema, options override every field, and null removes a field", () => {
    const inputSchema = { type: "object", properties: { path: { type: "string" } } }
    const body = Request.make(asking([], { tools: [{ name: "read", description: "Reads", inputSchema }] }), {
      body: { temperature: 0, stream_options: null }
    })
    expect(body).toMatchObject({
      tools: [{ type: "function", function: { name: "read", description: "Reads", parameters: inputSchema } }],
      temperature: 0
    })
    expect(body).not.toHaveProperty("stream_options")
  })

  it("there is no system prompt and no list of tools where they are empty", () => {
    for (const system of [{}, { system: "" }]) {
      expect(Request.make(asking([user("Hi")], system), {})).toEqual({
        model: "m",
        messages: [{ role: "user", content: "Hi" }],
        stream: true,
        stream_options: { include_usage: true }
      })
    }
    const inputSchema = { type: "object" }
    expect(Request.make(asking([], { tools: [{ name: "read", inputSchema }] }), {}).tools).toEqual([
      { type: "function", function: { name: "read", parameters: inputSchema } }
    ])
  })

  it("calls and their results are sent back, failed ones as text", () => {
    const { messages } = Request.make(
      asking([
        assistant(own, { type: "text", text: "Let me see" }, call("a"), call("b")),
        tool({ toolCallId: "a", output: { n: 1 }, isError: false }, { toolCallId: "b", output: "gone", isError: true })
      ]),
      {}
    )
    const called = { type: "function", function: { name: "read", arguments: '{"path":"x"}' } }
    expect(messages).toEqual([
      {
        role: "assistant",
        content: "Let me see",
        tool_calls: [
          { id: "a", ...called },
          { id: "b", ...called }
        ]
      },
      { role: "tool", tool_call_id: "a", content: '{"n":1}' },
      { role: "tool", tool_call_id: "b", content: "Error: gone" }
    ])
  })

  it("rule A10: malformed arguments are sent back inside valid JSON", () => {
    const { messages } = Request.make(asking([assistant(own, call("a", { input: "{oops", malformed: "no" }))]), {})
    expect(messages).toMatchObject([
      { content: null, tool_calls: [{ function: { arguments: '{"malformed_arguments":"{oops"}' } }] }
    ])
  })

  it("reasoning is left out, unless its field is configured; then it is sent to its own model only", () => {
    const reasoned = (target: typeof own) =>
      assistant(target, { type: "reasoning", text: "hm" }, { type: "text", text: "a" })
    const request = asking([reasoned(own), reasoned(other)])
    expect(JSON.stringify(Request.make(request, {}))).not.toContain("hm")
    expect(Request.make(request, { reasoningField: "reasoning_content" }).messages).toEqual([
      { role: "assistant", content: "a", reasoning_content: "hm" },
      { role: "assistant", content: "a" }
    ])
    const silent = asking([assistant(own, { type: "text", text: "a" })])
    expect(Request.make(silent, { reasoningField: "reasoning" }).messages).toEqual([
      { role: "assistant", content: "a" }
    ])
  })

  it("the reasoning of a service that requires it is sent back without a setting", () => {
    for (const baseUrl of ["https://api.deepseek.com/v1", "https://api.deepseek.com", "https://api.moonshot.ai/v1"])
      expect(Request.reasoningFieldOf(baseUrl)).toBe("reasoning_content")
    for (const baseUrl of [
      "https://api.openai.com/v1",
      "http://localhost:1/api.deepseek.com",
      "https://api.deepseek.com.x"
    ])
      expect(Request.reasoningFieldOf(baseUrl)).toBeUndefined()
  })

  it("an empty assistant message is left out", () => {
    expect(Request.make(asking([assistant(own, { type: "reasoning", text: "hm" })]), {}).messages).toEqual([])
  })
})
