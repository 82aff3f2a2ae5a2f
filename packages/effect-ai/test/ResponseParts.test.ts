/** Events of a provider as parts of Effect AI. Whole responses and streams of a model are in `LanguageModels.int.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as ResponseParts from "../src/ResponseParts.ts"

const EVENTS: ReadonlyArray<ResponseParts.PartEvent> = [
  { type: "reasoning-delta", delta: "We" },
  { type: "reasoning-delta", delta: "ll" },
  { type: "reasoning-end", signature: "s" },
  { type: "reasoning-end", redacted: "r" },
  { type: "text-delta", delta: "It rains" },
  { type: "file", mediaType: "image/png", data: "AAEC", proof: '{"google":{"thoughtSignature":"f"}}' },
  { type: "file", mediaType: "image/png", url: "https://example.com/a.png" },
  { type: "text-delta", delta: "." },
  { type: "tool-call", toolCallId: "c", toolName: "look", input: "{oops", malformed: "no JSON" },
  { type: "usage", usage: { inputTokens: 3, outputTokens: 2 } },
  { type: "finish", finishReason: "stop" }
]

describe("parts of a response", () => {
  const writer = new ResponseParts.Writer()
  const parts = EVENTS.flatMap((event) => writer.partsOf(event))

  it("have a block for each run of deltas, and none for a file at an address", () => {
    assert.deepStrictEqual(
      parts.map((part) => ("id" in part ? `${part.type} ${part.id}` : part.type)),
      [
        "reasoning-start 1",
        "reasoning-delta 1",
        "reasoning-delta 1",
        "reasoning-end 1",
        "reasoning-start 2",
        "reasoning-end 2",
        "text-start 3",
        "text-delta 3",
        "text-end 3",
        "file",
        "text-start 4",
        "text-delta 4",
        "text-end 4",
        "tool-call c",
        "finish"
      ]
    )
  })

  it("are joined as those of a whole response, with what goes back to the provider", () => {
    assert.deepStrictEqual<unknown>(ResponseParts.joined(parts).slice(0, -1), [
      { type: "reasoning", text: "Well", metadata: { anthropic: { info: { type: "thinking", signature: "s" } } } },
      {
        type: "reasoning",
        text: "",
        metadata: { anthropic: { info: { type: "redacted_thinking", redactedData: "r" } } }
      },
      { type: "text", text: "It rains", metadata: {} },
      { type: "file", mediaType: "image/png", data: "AAEC", metadata: { google: { thoughtSignature: "f" } } },
      { type: "text", text: ".", metadata: {} },
      { type: "tool-call", id: "c", name: "look", params: { malformed_arguments: "{oops" }, metadata: {} }
    ])
  })

  it("end with the reason and the usage", () => {
    const finish = parts.at(-1)
    assert.deepInclude(finish, { type: "finish", reason: "stop" })
    assert.deepNestedInclude(finish, { "usage.inputTokens.total": 3, "usage.outputTokens.total": 2 })
  })
})
