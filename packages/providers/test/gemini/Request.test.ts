import { describe, expect, it } from "@effect/vitest"
import type { Message } from "@holdfast/wire"
import * as Request from "../../src/gemini/Request.ts"
import * as RequestFiles from "../../src/requests/Files.ts"
import * as PromptParts from "../../src/requests/PromptParts.ts"
import { asking, assistant, call, other, own, prompt, tool, user } from "../harness/History.ts"
import { request } from "../harness/Dialect.ts"

const proof = JSON.stringify({ thoughtSignature: "EpEg" })

describe("gemini/Request", () => {
  it("has the prompt and the system prompt; the model is in the path", () => {
    expect(Request.make(asking([user("Hi"), user("there")], { system: "Be kind" }), {})).toEqual({
      systemInstruction: { parts: [{ text: "Be kind" }] },
      contents: [{ role: "user", parts: [{ text: "Hi" }, { text: "there" }] }]
    })
    expect(Request.make(asking([user("Hi")], { system: "" }), {})).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }]
    })
  })

  it("a model's image stays in its message, with its signature or, where one is required, the foreign one", () => {
    const image = { type: "file", mediaType: "image/png", data: "AAAA" } as const
    const inlineData = { mimeType: "image/png", data: "AAAA" }
    const parts = (model: string, ...content: ReadonlyArray<Message.AssistantPart>) =>
      Request.make(asking([assistant({ ...own, model }, ...content)], { target: { ...own, model } }), {}).contents
    const signed = { role: "model", parts: [{ inlineData, thoughtSignature: "EpEg" }] }
    expect(parts("m", { ...image, proof })).toEqual([signed])
    expect(parts("m", image)).toEqual([{ role: "model", parts: [{ inlineData }] }])
    const foreign = { inlineData, thoughtSignature: "skip_thought_signature_validator" }
    expect(parts("gemini-3-pro-image", image)).toEqual([{ role: "model", parts: [foreign] }])
  })

  it("tools are sent as JSON Schema, options override every field, and null removes a field", () => {
    const inputSchema = { type: "object", properties: { path: { type: "string" } } }
    const body = Request.make(asking([], { tools: [{ name: "read", description: "Reads", inputSchema }] }), {
      body: { generationConfig: { temperature: 0, thinkingConfig: { includeThoughts: true } } },
      modelBody: new Map([["m", { generationConfig: { temperature: null } }]])
    })
    expect(body).toEqual({
      contents: [],
      tools: [{ functionDeclarations: [{ name: "read", description: "Reads", parametersJsonSchema: inputSchema }] }],
      generationConfig: { thinkingConfig: { includeThoughts: true } }
    })
  })

  it("a thought signature goes back with its part, to its own model alone", () => {
    const history = (target: typeof own) => [
      user("Hi"),
      assistant(
        target,
        { type: "reasoning", text: "hm", proof },
        { type: "text", text: "Let me see" },
        { type: "reasoning", text: "", proof },
        call("a", { proof }),
        call("b")
      ),
      tool({ toolCallId: "a", output: { n: 1 }, isError: false }, { toolCallId: "b", output: "gone", isError: true })
    ]
    const results = (ids: boolean) => ({
      role: "user",
      parts: [
        { functionResponse: { ...(ids ? { id: "a" } : {}), name: "read", response: { output: { n: 1 } } } },
        { functionResponse: { ...(ids ? { id: "b" } : {}), name: "read", response: { error: "gone" } } }
      ]
    })
    expect(Request.make(asking(history(own)), {}).contents).toEqual([
      { role: "user", parts: [{ text: "Hi" }] },
      {
        role: "model",
        parts: [
          { text: "hm", thought: true, thoughtSignature: "EpEg" },
          { text: "Let me see" },
          { text: "", thoughtSignature: "EpEg" },
          { functionCall: { id: "a", name: "read", args: { path: "x" } }, thoughtSignature: "EpEg" },
          { functionCall: { id: "b", name: "read", args: { path: "x" } } }
        ]
      },
      results(true)
    ])
    expect(Request.make(asking(history(other)), {}).contents).toEqual([
      { role: "user", parts: [{ text: "Hi" }] },
      {
        role: "model",
        parts: [
          { text: "Let me see" },
          { functionCall: { name: "read", args: { path: "x" } } },
          { functionCall: { name: "read", args: { path: "x" } } }
        ]
      },
      results(false)
    ])
  })

  it("an id that Holdfast gave to a call is not sent", () => {
    const id = PromptParts.callId(request)(0)
    const history = [assistant(own, call(id)), tool({ toolCallId: id, output: "x", isError: false })]
    expect(JSON.stringify(Request.make(asking(history), {}))).not.toContain(id)
    expect(PromptParts.isCallId("call_AbC123")).toBe(false)
  })

  it("after a switch of targets the first call of a step has the signature for foreign calls, where the model requires one", () => {
    const signatures = (model: string, target = other, first = {}, second = {}) => {
      const body = Request.make(
        asking([assistant(target, call("a", first), call("b", second))], { target: { provider: "p", model } }),
        {}
      )
      return JSON.stringify(body).match(/"thoughtSignature":"([^"]*)"/g) ?? []
    }
    const foreign = '"thoughtSignature":"skip_thought_signature_validator"'
    for (const model of ["gemini-3-pro-preview", "models/gemini-3.1-flash", "gemini-10"]) {
      expect(signatures(model), model).toEqual([foreign])
    }
    for (const model of ["gemini-2.5-pro", "gemma-4"]) expect(signatures(model), model).toEqual([])
    const own3 = { provider: "p", model: "gemini-3-pro" }
    expect(signatures("gemini-3-pro", own3, { proof })).toEqual(['"thoughtSignature":"EpEg"'])
    expect(signatures("gemini-3-pro", own3, {}, { proof })).toEqual(['"thoughtSignature":"EpEg"'])
    for (const proof of ["{", "[]", '{"google":{"thoughtSignature":"x"}}']) {
      expect(signatures("gemini-3-pro", own3, { proof })).toEqual([foreign])
    }
  })

  it("a message of thoughts alone is left out, and so is an empty one", () => {
    const thoughts = assistant(own, { type: "reasoning", text: "hm", proof }, { type: "reasoning", text: "so" })
    expect(Request.make(asking([user("Hi"), thoughts, assistant(own), user("")]), {}).contents).toEqual([
      { role: "user", parts: [{ text: "Hi" }] }
    ])
  })

  it("rule A10: malformed arguments are sent back inside valid JSON", () => {
    const { contents } = Request.make(asking([assistant(own, call("a", { input: "{oops", malformed: "no" }))]), {})
    expect(contents).toMatchObject([{ parts: [{ functionCall: { args: { malformed_arguments: "{oops" } } }] }])
  })

  it("files are parts, those of a tool's results after all results of the step", () => {
    const image = { type: "file" as const, mediaType: "image/png", data: "AAAA" }
    const link = { type: "file" as const, mediaType: "application/pdf", url: "https://x.test/a.pdf" }
    const note = { type: "file" as const, mediaType: "text/plain", data: "SGk=", name: "a.txt" }
    expect(Request.make(asking([prompt(image, link, note)]), {}).contents).toEqual([
      {
        role: "user",
        parts: [
          { inlineData: { mimeType: "image/png", data: "AAAA" } },
          { fileData: { mimeType: "application/pdf", fileUri: "https://x.test/a.pdf" } },
          { text: '<file name="a.txt">\nHi\n</file>' }
        ]
      }
    ])
    const content = [image] as const
    const { contents } = Request.make(
      asking([
        assistant(own, call("a"), call("b")),
        tool(
          { toolCallId: "a", output: "[image/png]", isError: false, content },
          { toolCallId: "b", output: "x", isError: false }
        )
      ]),
      {}
    )
    expect(contents).toMatchObject([
      { role: "model" },
      {
        parts: [
          { functionResponse: { name: "read" } },
          { functionResponse: { name: "read" } },
          { text: "The file of the result of read:" },
          { inlineData: { data: "AAAA" } }
        ]
      }
    ])
  })

  it("files that Gemini does not take are refused before the call", () => {
    for (const file of [
      { type: "file" as const, mediaType: "application/zip", data: "AAAA" },
      { type: "file" as const, mediaType: "image/*", url: "https://x.test/a" },
      { type: "file" as const, mediaType: "text/plain", url: "https://x.test/a.txt" }
    ]) {
      expect(RequestFiles.refusalOf(asking([prompt(file)]), Request.refuses)?.failure.message).toContain("Gemini")
    }
  })
})
