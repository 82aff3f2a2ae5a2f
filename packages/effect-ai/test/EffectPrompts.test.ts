/** Messages of Holdfast and prompts of Effect AI have the same content. */
import { assert, describe, it } from "@effect/vitest"
import { Ids, Message } from "@holdfast/wire"
import { Schema } from "effect"
import { Prompt } from "effect/ai"
import * as EffectPrompts from "../src/EffectPrompts.ts"

const target = { provider: "p", model: "m" }
const common = (n: number) => ({ id: Ids.messageIdOf(EffectPrompts.TURN, n), turnId: EffectPrompts.TURN, createdAt: 0 })

const MESSAGES: ReadonlyArray<Message.Message> = [
  {
    role: "user",
    ...common(1),
    content: [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", name: "a.png", data: "AAEC" },
      { type: "file", mediaType: "application/pdf", url: "https://example.com/a.pdf" }
    ]
  },
  {
    role: "assistant",
    ...common(2),
    target,
    content: [
      { type: "reasoning", text: "Well", signature: "s" },
      { type: "reasoning", text: "", redacted: "r" },
      { type: "text", text: "I look." },
      { type: "reasoning", text: "Hm", proof: '{"google":{"thoughtSignature":"t"}}' },
      { type: "file", mediaType: "image/png", data: "AAEC", proof: '{"google":{"thoughtSignature":"f"}}' },
      { type: "tool-call", toolCallId: "c", toolName: "look", input: { at: "a.png" } },
      { type: "tool-call", toolCallId: "d", toolName: "show", input: {}, proof: '{"openai":{"itemId":"i"}}' }
    ]
  },
  {
    role: "tool",
    ...common(3),
    content: [
      { type: "tool-result", toolCallId: "c", toolName: "look", output: { seen: 1 }, isError: false },
      {
        type: "tool-result",
        toolCallId: "d",
        toolName: "show",
        output: "A file",
        content: [{ type: "file", mediaType: "image/png", data: "AAEC" }],
        isError: true
      }
    ]
  }
]

describe("prompts", () => {
  it("have every part of messages, and give the same messages back", () => {
    const prompt = Prompt.make(EffectPrompts.promptOf("Be brief.", MESSAGES))
    const { messages, system } = EffectPrompts.messagesOf(prompt, target, 0)
    assert.strictEqual(system, "Be brief.")
    assert.deepStrictEqual(messages, MESSAGES)
    assert.isTrue(messages.every(Schema.is(Message.Message)))
  })

  it.each([
    ["data:image/png;base64,AAEC", { data: "AAEC" }],
    ["AAEC", { data: "AAEC" }],
    [new URL("https://example.com/a.png"), { url: "https://example.com/a.png" }]
  ])("take a file that is %s", (data, expected) => {
    const prompt = Prompt.make([{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }])
    const [message] = EffectPrompts.messagesOf(prompt, target, 0).messages
    assert.deepStrictEqual(message?.content, [{ type: "file", mediaType: "image/png", ...expected }] as never)
  })

  it("have malformed arguments as an object", () => {
    const call = { type: "tool-call" as const, toolCallId: "c", toolName: "look", input: "{oops", malformed: "no" }
    const [prompted] = EffectPrompts.promptOf(undefined, [
      { role: "assistant", ...common(1), target, content: [call] }
    ]) as never[]
    assert.deepNestedInclude(prompted, { "content[0].params": { malformed_arguments: "{oops" } })
  })

  it("leave out a message without a part that a message has a place for", () => {
    const approval = { type: "tool-approval-response" as const, approvalId: "a", approved: true }
    const prompt = Prompt.make([
      { role: "user", content: [] },
      { role: "tool", content: [approval] }
    ])
    assert.deepStrictEqual(EffectPrompts.messagesOf(prompt, target, 0), { messages: [] })
  })

  it("name the file that they cannot take", () => {
    const data = new URL("http://example.com/a.png")
    const prompt = Prompt.make([{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }])
    assert.throws(
      () => EffectPrompts.messagesOf(prompt, target, 0),
      "A file (image/png) at http://example.com/a.png is not valid: expected an https address"
    )
  })

  it("name the media type that is none", () => {
    const file = { type: "file" as const, mediaType: "image", data: "AAEC" }
    const prompt = Prompt.make([{ role: "user", content: [file] }])
    assert.throws(
      () => EffectPrompts.messagesOf(prompt, target, 0),
      "A file (image) is not valid: expected a media type"
    )
  })

  it("keep of options and results what a message has a place for", () => {
    const options = { openai: { imageDetail: "high" } }
    const file = { type: "file" as const, mediaType: "image/png", fileName: "docs/a.png", data: "AAEC", options }
    const call = { type: "tool-call" as const, id: "s", name: "search", params: {}, providerExecuted: true }
    const result = { type: "tool-result" as const, id: "s", name: "search", isFailure: false, result: "Found." }
    const prompt = Prompt.make([
      { role: "user", content: [file] },
      { role: "assistant", content: [call, result, { type: "text", text: "I looked." }] },
      { role: "tool", content: [{ ...result, modelOutput: [file] }] }
    ])
    const { messages } = EffectPrompts.messagesOf(prompt, target, 0)
    const sent = { type: "file", mediaType: "image/png", name: "a.png", data: "AAEC" }
    assert.deepStrictEqual<unknown>(
      messages.map(({ content }) => content),
      [
        [sent],
        [{ type: "text", text: "I looked." }],
        [
          {
            type: "tool-result",
            toolCallId: "s",
            toolName: "search",
            output: "Found.",
            isError: false,
            content: [sent]
          }
        ]
      ]
    )
    assert.isTrue(messages.every(Schema.is(Message.Message)))
  })
})
