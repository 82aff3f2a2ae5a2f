import { describe, expect, it } from "@effect/vitest"
import * as ToolArguments from "../../src/decoding/ToolArguments.ts"

const call = (text: string, more: { readonly toolName?: string; readonly wasCut?: boolean } = {}) =>
  ToolArguments.toCall({ toolCallId: "a", toolName: "read", text, wasCut: false, ...more })

describe("ToolArguments", () => {
  it("a JSON object is the input; nothing, blanks and null are an empty one", () => {
    for (const [text, input] of [
      ['{"n":1}', { n: 1 }],
      [' {"n":1}\n', { n: 1 }],
      ["{}", {}],
      ["", {}],
      [" \n", {}],
      ["null", {}]
    ] as const) {
      expect(call(text)).toEqual({ type: "tool-call", toolCallId: "a", toolName: "read", input })
    }
  })

  it("rule A10: any other text is kept, with the reason", () => {
    for (const [text, reason] of [
      ["[]", "not a JSON object"],
      ["1", "not a JSON object"],
      ['"{}"', "not a JSON object"],
      ["false", "not a JSON object"],
      ['{"n":', "arguments are not JSON: "],
      [`${'{"a":'.repeat(201)}1${"}".repeat(201)}`, "200 levels"]
    ] as const) {
      expect(call(text), text).toEqual({
        type: "tool-call",
        toolCallId: "a",
        toolName: "read",
        input: text,
        malformed: expect.stringContaining(reason)
      })
    }
    expect(call(`${'{"a":'.repeat(200)}1${"}".repeat(200)}`)).not.toHaveProperty("malformed")
  })

  it("rule A10: a call that names no tool is malformed, whatever its arguments", () => {
    for (const text of ["", "{}", "{"]) {
      expect(call(text, { toolName: "" })).toMatchObject({ input: text, malformed: expect.stringContaining("no tool") })
    }
  })

  it("rule C7: at the length limit missing and half arguments are malformed, with that reason; complete ones are accepted", () => {
    expect(call("", { wasCut: true })).toMatchObject({
      input: "",
      malformed: expect.stringContaining("length limit before the arguments")
    })
    expect(call('{"n":', { wasCut: true })).toMatchObject({
      input: '{"n":',
      malformed: expect.stringMatching(/length limit within the arguments: .+/)
    })
    expect(call('{"n":1}', { wasCut: true })).toEqual(call('{"n":1}'))
  })
})
