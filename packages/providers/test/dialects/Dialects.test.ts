import { describe, expect, it } from "@effect/vitest"
import type { Judgement } from "../../src/dialects/Dialect.ts"
import * as Dialects from "../../src/dialects/Dialects.ts"
import * as AnswerFrames from "../../src/dialects/AnswerFrames.ts"
import * as ContentGate from "../../src/dialects/ContentGate.ts"
import * as Heartbeats from "../../src/dialects/Heartbeats.ts"
import * as Wires from "../harness/Dialect.ts"
import { encode, head, wireFormats } from "../harness/WireFormats.ts"

const judged = (format: (typeof wireFormats)[number]["format"], text: string): ReadonlyArray<Judgement> =>
  AnswerFrames.all(AnswerFrames.ofEvents(), encode(text)).map((frame) => Dialects.byFormat[format].judge(frame, head()))

describe("Dialects.of", () => {
  it("a path belongs to one format, whatever is before it and in its query", () => {
    for (const [target, format] of [
      ["/v1/chat/completions", "chat"],
      ["/openai/deployments/x/chat/completions?api-version=1", "chat"],
      ["/v1/responses", "responses"],
      ["/messages?beta=true", "messages"],
      ["/v1beta/models/gemini-3-pro:generateContent", "gemini"],
      ["/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent?alt=sse", "gemini"]
    ] as const) {
      expect(Dialects.of(target)?.format, target).toBe(format)
    }
  })

  it("other paths have no dialect", () => {
    for (const target of [
      "/v1/models",
      "/v1/messages/count_tokens",
      "/v1/messages/batches",
      "/v1/threads/t/messages",
      "/v1/responses/resp_1/cancel",
      "/v1/completions",
      "/v1beta/models/g:countTokens",
      "/v1/files?x=/messages"
    ]) {
      expect(Dialects.of(target), target).toBeUndefined()
    }
  })
})

describe("a call", () => {
  it("its framing and model are in the body", () => {
    for (const format of ["chat", "messages", "responses"] as const) {
      const { call } = Dialects.byFormat[format]
      expect(call("/x", { model: "m", stream: true })).toEqual({ format, framing: "events", model: "m" })
      expect(call("/x", { model: "m" })).toEqual({ format, framing: "document", model: "m" })
      expect(call("/x", null)).toEqual({ format, framing: "document", model: undefined })
    }
  })

  it("or in the path, for Gemini", () => {
    const { call } = Dialects.byFormat.gemini
    const at = (method: string) => call(`/v1beta/models/tuned%2Fx:${method}`, {})
    expect(at("generateContent")).toEqual({ format: "gemini", framing: "document", model: "tuned/x" })
    expect(at("streamGenerateContent")).toMatchObject({ framing: "array" })
    expect(at("streamGenerateContent?key=k&alt=sse")).toMatchObject({ framing: "events", model: "tuned/x" })
  })

  it("another model changes the bytes of that field alone", () => {
    const { withModel } = Dialects.byFormat.chat
    const change = (body: string) => String(Buffer.from(withModel({ target: "/x", body: encode(body) }, 'neu"ü').body))
    expect(change('{ "a" : {"model":"in"}, "model" :\n"alt" , "n": 1.0, "b":"\\"model\\":1" }')).toBe(
      '{ "a" : {"model":"in"}, "model" :\n"neu\\"ü" , "n": 1.0, "b":"\\"model\\":1" }'
    )
    expect(change('{"mod\\u0065l":"alt","x":[{"model":1},"]"],"model":null}')).toBe(
      '{"mod\\u0065l":"neu\\"ü","x":[{"model":1},"]"],"model":"neu\\"ü"}'
    )
    for (const blank of ["", " ", "\t", "\n", "\r"]) {
      expect(change(`\uFEFF${blank}{"model":null${blank}}`)).toBe(`\uFEFF${blank}{"model":"neu\\"ü"${blank}}`)
    }
    const escaped = JSON.stringify({ a: '","model":1,"b":"\\', c: [{ d: {} }] }).slice(0, -1)
    for (const value of ["1", "{}", '[{"model":1}]']) {
      expect(change(`${escaped},"model":${value}}`)).toBe(`${escaped},"model":"neu\\"ü"}`)
    }
    for (const body of ["{}", '{"messages":[]}', "[]", "model", '{"model', '{"a":["b', ""])
      expect(change(body)).toBe(body)
    const path = Dialects.byFormat.gemini.withModel(
      { target: "/v1beta/models/old:streamGenerateContent?alt=sse", body: encode("{}") },
      "new"
    )
    expect(path.target).toBe("/v1beta/models/new:streamGenerateContent?alt=sse")
  })
})

for (const wire of wireFormats) {
  describe(`judgements of ${wire.format}`, () => {
    it("rule C8: openings, empty deltas, states, pings and usage are preamble", () => {
      for (const frame of wire.preamble)
        expect(
          judged(wire.format, frame).every(({ kind }) => kind === "preamble"),
          frame
        ).toBe(true)
    })

    it("text, reasoning, arguments, refusals and files are content", () => {
      for (const frame of wire.content) {
        expect(judged(wire.format, frame), frame).toMatchObject([{ kind: "content", isEnd: false }])
      }
    })

    it("rule C3: an error in a stream is classified", () => {
      for (const [frame, reason] of wire.errors) {
        expect(judged(wire.format, frame), frame).toMatchObject([{ kind: "error", failure: { reason } }])
      }
    })

    it("the end is the end, also without content", () => {
      const kinds = wire.ending.flatMap((frame) => judged(wire.format, frame)).map(({ kind }) => kind)
      expect(kinds).toContain("end")
    })

    it("rule C3: a document is an answer or a classified error", () => {
      const { judgeDocument } = Dialects.byFormat[wire.format]
      expect(judgeDocument(wire.document, head())).toMatchObject({ kind: "content" })
      const bodies = [
        ...wire.documentErrors,
        ["", "invalid-response"],
        [wire.document.slice(0, -1), "invalid-response"],
        ["<!doctype html><title>Just a moment</title>", "invalid-response"]
      ] as const
      for (const [body, reason] of bodies) {
        expect(judgeDocument(body, head()), body).toMatchObject({ kind: "error", failure: { reason } })
      }
    })

    it("every heartbeat is one whole frame without content", () => {
      for (const { format, text } of Heartbeats.table) {
        if (format !== wire.format) continue
        const splitter = AnswerFrames.ofEvents()
        const frames = splitter.feed(encode(text))
        expect([frames.length, splitter.rest()], text).toEqual([/^(?:event|data):/.test(text) ? 1 : 0, []])
        expect(judged(format, text).every(({ kind }) => kind === "preamble")).toBe(true)
      }
    })
  })
}

it("rule C3: a chat answer that ends for a failure of its endpoint can be repeated", () => {
  for (const [finish_reason, reason] of [
    ["error", "server-error"],
    ["insufficient_system_resource", "overloaded"]
  ] as const) {
    const json = JSON.stringify({ choices: [{ delta: {}, finish_reason }] })
    const failure = { reason, code: finish_reason, retryable: true }
    expect(judged("chat", `data: ${json}\n\n`)).toMatchObject([{ kind: "error", failure }])
    expect(Dialects.byFormat.chat.judgeDocument(json, head())).toMatchObject({ kind: "error", failure })
  }
})

describe("judgements of recordings", () => {
  const kindsOf = (format: "chat" | "messages", frames: ReadonlyArray<string>) =>
    frames.flatMap((frame) => judged(format, frame)).map(({ kind }) => kind)

  for (const [format, wire] of [
    ["chat", Wires.openAiCompatible],
    ["messages", Wires.anthropicMessages]
  ] as const) {
    it(`${wire.name}: every recording has preamble, then content, then its end, and no error`, () => {
      for (const frames of [wire.text, wire.reasoning, wire.toolCall, wire.noArguments, wire.parallel]) {
        const kinds = kindsOf(format, frames)
        expect(kinds).not.toContain("error")
        expect(kinds).toContain("end")
        expect(kinds.lastIndexOf("content")).toBeLessThan(kinds.indexOf("end"))
      }
      expect(kindsOf(format, wire.text).filter((kind) => kind === "content").length).toBeGreaterThan(5)
      expect(new Set(kindsOf(format, wire.preamble))).toEqual(new Set(["preamble"]))
    })
  }
})

describe("Progress", () => {
  it("rule C8: pings, comments and blanks are no progress; content and half a frame are", () => {
    for (const { content, format, preamble } of wireFormats) {
      const isProgress = (text: string) => ContentGate.isProgress(Dialects.byFormat[format], encode(text), head())
      const ping = new TextDecoder().decode(Heartbeats.of(format, "events"))
      for (const text of [ping, ": ping\n\n", "\n"]) expect(isProgress(text), text).toBe(false)
      for (const frame of content) expect(isProgress(frame), frame).toBe(true)
      expect(isProgress('data: {"cho')).toBe(true)
      expect(isProgress(preamble.join(""))).toBe(true)
    }
  })
})

describe("Heartbeats", () => {
  const text = (...[format, framing, userAgent]: Parameters<typeof Heartbeats.of>) =>
    new TextDecoder().decode(Heartbeats.of(format, framing, userAgent))

  it("each client gets the heartbeat that holds it", () => {
    expect(text("messages", "events", "claude-cli/2.1.330 (external, cli)")).toContain('"stop_reason":null')
    expect(text("messages", "events", "Anthropic/JS 0.70")).toBe('event: ping\ndata: {"type":"ping"}\n\n')
    expect(text("messages", "events")).toContain("ping")
    expect(text("responses", "events", "codex_cli_rs/0.169")).toMatch(/^event: keepalive\ndata: \{"type":"keepalive"/)
    for (const sdk of ["OpenAI/JS 7.57.0", "OpenAI/Python 2.9", "AsyncOpenAI/Python 2.9"])
      expect(text("responses", "events", sdk)).toBe(": ping\n\n")
    expect(text("chat", "events")).toBe(": ping\n\n")
    expect(text("gemini", "events", "GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64)")).toBe("\n")
  })

  it("a JSON answer is held by white space", () => {
    for (const { format } of wireFormats) {
      expect(text(format, "document", "claude-cli/2")).toBe("\n")
      expect(text(format, "array")).toBe("\n")
    }
  })
})
