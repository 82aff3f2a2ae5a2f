import { describe, expect, it } from "@effect/vitest"
import type { Message } from "@holdfast/wire"
import * as Request from "../../src/anthropic/Request.ts"
import { asking, assistant, call, other, own, tool, user } from "../harness/History.ts"

const plain = { promptCaching: false }
const cache_control = { type: "ephemeral" }

describe("anthropic/Request", () => {
  it("marks the system prompt and the last message for the prompt cache", () => {
    expect(Request.make(asking([user("Hi")], { system: "Be kind" }), {})).toEqual({
      model: "m",
      max_tokens: 32_000,
      system: [{ type: "text", text: "Be kind", cache_control }],
      messages: [{ role: "user", content: [{ type: "text", text: "Hi", cache_control }] }],
      stream: true
    })
  })

  it("marks only the last message, and no message of the model, which may end in thinking", () => {
    const marked = (...messages: ReadonlyArray<Message.Message>) =>
      JSON.stringify(Request.make(asking(messages), {}).messages).split("cache_control").length - 1
    expect(marked(user("a"), assistant(own, { type: "text", text: "b" }))).toBe(0)
    expect(marked(user("a"), assistant(own, { type: "text", text: "b" }), user("c"))).toBe(1)
    expect(Request.make(asking([user("a"), assistant(own, call("x")), user("c")]), {}).messages).toMatchObject([
      { content: [{ type: "text", text: "a" }] },
      {},
      { content: [{ type: "text", text: "c", cache_control }] }
    ])
    expect(marked()).toBe(0)
  })

  it("has no cache marks where the cache is switched off, and no tools or system prompt where there are none", () => {
    expect(Request.make(asking([user("Hi")], { system: "Be kind" }), plain)).toMatchObject({
      system: [{ type: "text", text: "Be kind" }]
    })
    expect(JSON.stringify(Request.make(asking([user("Hi")], { system: "Be kind" }), plain))).not.toContain("cache")
    for (const system of [{}, { system: "" }]) {
      const body = Request.make(asking([user("Hi")], system), {})
      expect(Object.keys(body)).toEqual(["model", "max_tokens", "messages", "stream"])
    }
  })

  it("a tool has a description where there is one", () => {
    const inputSchema = { type: "object" }
    const tools = [
      { name: "read", inputSchema },
      { name: "list", description: "Lists", inputSchema }
    ]
    expect(Request.make(asking([], { tools }), {}).tools).toEqual([
      { name: "read", input_schema: inputSchema },
      { name: "list", description: "Lists", input_schema: inputSchema }
    ])
  })

  it("tools are sent as JSON Schema, and options override every field", () => {
    const inputSchema = { type: "object" }
    const body = Request.make(asking([], { tools: [{ name: "read", inputSchema }] }), {
      maxTokens: 5,
      body: { temperature: 0 }
    })
    expect(body).toMatchObject({ max_tokens: 5, temperature: 0, tools: [{ name: "read", input_schema: inputSchema }] })
  })

  it("the limit on a response is what models of that name allow", () => {
    expect(
      [
        "claude-3-haiku-20240307",
        "claude-3-opus-latest",
        "claude-3-5-sonnet-latest",
        "claude-3.5-haiku",
        "claude-sonnet-4-5"
      ].map(Request.maxTokensOf)
    ).toEqual([4096, 4096, 8192, 8192, 32_000])
  })

  it("signed and redacted thinking is sent back unchanged, only to the model that made it", () => {
    const thinking = [
      { type: "reasoning", text: "hm", signature: "sig" },
      { type: "reasoning", text: "", redacted: "blob" },
      { type: "reasoning", text: "unsigned" },
      { type: "text", text: "a" }
    ] as const
    const contentFor = (target: typeof own) => Request.make(asking([assistant(target, ...thinking)]), plain).messages
    expect(contentFor(own)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "sig" },
          { type: "redacted_thinking", data: "blob" },
          { type: "text", text: "a" }
        ]
      }
    ])
    expect(contentFor(other)).toEqual([{ role: "assistant", content: [{ type: "text", text: "a" }] }])
  })

  it("messages of one role become one, tool results first", () => {
    const { messages } = Request.make(
      asking([
        assistant(own, call("a"), call("b:1/2")),
        tool({ toolCallId: "a", output: { n: 1 }, isError: false }),
        user("Go on"),
        tool({ toolCallId: "b:1/2", output: "gone", isError: true })
      ]),
      plain
    )
    expect(messages).toEqual([
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "a", name: "read", input: { path: "x" } },
          { type: "tool_use", id: "b_1_2", name: "read", input: { path: "x" } }
        ]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: '{"n":1}' },
          { type: "tool_result", tool_use_id: "b_1_2", content: "gone", is_error: true },
          { type: "text", text: "Go on" }
        ]
      }
    ])
  })

  it("there is no empty text and no message of thinking alone", () => {
    const messages = [
      user("Hi"),
      assistant(own, { type: "reasoning", text: "hm", signature: "s" }, { type: "text", text: " " }),
      user("Still there?")
    ]
    expect(Request.make(asking(messages), plain).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "text", text: "Still there?" }
        ]
      }
    ])
  })
})
