import { describe, expect, it } from "@effect/vitest"
import { Ids, type Message } from "@holdfast/wire"
import * as PromptParts from "../../src/requests/PromptParts.ts"
import { request } from "../harness/Dialect.ts"
import { assistant, call, other, own } from "../harness/History.ts"

const idOf = (turnId: string, step: number, n: number) =>
  PromptParts.callId({ ...request, turnId: Ids.TurnId.make(turnId), step })(n)

describe("the id of a call that its provider did not name", () => {
  it("is the same when the turn is replayed, and differs for another turn, step or call", () => {
    const turns = ["019aa0d2-9b1c-7c3e-8a55-0123456789ab", "019aa0d2-9b1c-7c3e-8a55-0123456789ac", "t1", "t2"]
    const all = () => turns.flatMap((turn) => [0, 1].flatMap((step) => [0, 1].map((n) => idOf(turn, step, n))))
    expect(all()).toEqual(all())
    expect(new Set(all()).size).toBe(16)
  })

  it("is made of the end of the turn's id, within OpenAI's 40 characters", () => {
    const id = idOf("019aa0d2-9b1c-7c3e-8a55-0123456789ab", 9_999, 9_999)
    expect(id).toBe("call_3e-8a55-0123456789ab_9999_9999")
    expect(id.length).toBeLessThanOrEqual(40)
  })
})

describe("the shared encoding of a history", () => {
  const message = (target: typeof own, ...content: ReadonlyArray<Message.AssistantPart>): Message.AssistantMessage => {
    const made = assistant(target, ...content)
    if (made.role !== "assistant") throw new Error("assistant() makes a message of an assistant")
    return made
  }

  it("a message is the model's own if provider and model match", () => {
    const asked = { ...request, target: own }
    expect(PromptParts.isOwn(message(own), asked)).toBe(true)
    expect(PromptParts.isOwn(message(other), asked)).toBe(false)
    expect(PromptParts.isOwn(message({ ...own, model: "another" }), asked)).toBe(false)
  })

  it("rule A10: arguments are always an object, and the text of a malformed call never counts as arguments", () => {
    expect(PromptParts.argumentsOf(call("a", { input: { n: 1 } }))).toEqual({ n: 1 })
    expect(PromptParts.argumentsOf(call("a", { input: "{", malformed: "no" }))).toEqual({ malformed_arguments: "{" })
    expect(PromptParts.argumentsOf(call("a", { input: { n: 1 }, malformed: "no" }))).toEqual({
      malformed_arguments: { n: 1 }
    })
    expect(PromptParts.argumentsOf(call("a", { input: [1] }))).toEqual({ malformed_arguments: [1] })
  })

  it("a tool's text output is unchanged, and any other output is JSON", () => {
    const output = (output: Message.ToolResultPart["output"]) =>
      PromptParts.outputText({ type: "tool-result", toolCallId: "a", toolName: "read", output, isError: false })
    expect(output("as it is")).toBe("as it is")
    expect(output({ n: [1] })).toBe('{"n":[1]}')
    expect(output(null)).toBe("null")
  })

  it("a message's reasoning is complete, without its text", () => {
    const reasoned = message(own, { type: "reasoning", text: "a" }, { type: "text", text: "b" }, call("c"), {
      type: "reasoning",
      text: "d"
    })
    expect(PromptParts.reasoningText(reasoned)).toBe("ad")
  })
})
