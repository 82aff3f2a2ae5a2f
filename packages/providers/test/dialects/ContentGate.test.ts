/** Tests the content gate over scripts of faults, in each wire format: nothing of an attempt that failed before content passes. */
import { describe, expect, it } from "@effect/vitest"
import { Classification } from "@holdfast/policy"
import * as fc from "fast-check"
import { KEPT } from "../../src/dialects/AnswerEnd.ts"
import * as ContentGate from "../../src/dialects/ContentGate.ts"
import type { Framing, AnswerHead } from "../../src/dialects/Dialect.ts"
import * as Dialects from "../../src/dialects/Dialects.ts"
import * as Heartbeats from "../../src/dialects/Heartbeats.ts"
import * as Wires from "../harness/Dialect.ts"
import { cutAt } from "../harness/Decode.ts"
import {
  completions,
  decode,
  encode,
  gemini,
  head,
  messages,
  responses,
  type WireFormat,
  wireFormats
} from "../harness/WireFormats.ts"
import { type Attempt, cutOff, scripts } from "./FaultScripts.ts"

/** More scripts by hand: HOLDFAST_MODEL_RUNS=10000. */
const RUNS = Number(process.env.HOLDFAST_MODEL_RUNS ?? 150)

const gateOf = (wire: WireFormat, framing: Framing, head: AnswerHead) =>
  ContentGate.make({ dialect: Dialects.byFormat[wire.format], framing, head })

/** Feeds a whole attempt; the bytes that passed, and how it ended. */
const run = (wire: WireFormat, framing: Framing, { breaks, head, reads }: Attempt) => {
  const gate = gateOf(wire, framing, head)
  const passed = reads.flatMap((read) => gate.feed(read))
  if (breaks === "stall") gate.broken(undefined, { failure: Classification.timedOut("first-content", 1000) })
  else if (breaks === "cut") gate.broken(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))
  else passed.push(...gate.end())
  return { passed, gate, standing: gate.standing() }
}

const eventsOf = (wire: WireFormat, ...frames: ReadonlyArray<string>) =>
  run(wire, "events", { name: "", head: head(), reads: frames.map(encode) })

const framings = (wire: WireFormat): ReadonlyArray<Framing> =>
  wire.format === "gemini" ? ["events", "document", "array"] : ["events", "document"]

describe("a refusal whose body breaks off", () => {
  it("rule C2: keeps the reason of its status", () => {
    for (const wire of wireFormats) {
      const gate = gateOf(wire, "events", { ...head(), status: 401 })
      gate.feed(encode('{"error":{"mess'))
      gate.broken(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))
      expect(gate.standing()).toMatchObject({ kind: "failed", failure: { reason: "auth", status: 401 } })
    }
  })
})

describe("fault scripts", () => {
  for (const wire of wireFormats) {
    for (const framing of framings(wire)) {
      it(`${wire.format}, ${framing}: nothing of a failed attempt passes, and all of the answer does`, () => {
        const heartbeat = Heartbeats.of(wire.format, framing, "claude-cli/2")
        fc.assert(
          fc.property(scripts(wire, framing), ({ answer, failures }) => {
            const down: Array<Uint8Array> = []
            for (const failure of failures) {
              const { gate, passed, standing } = run(wire, framing, failure)
              expect(passed, failure.name).toEqual([])
              expect(standing, failure.name).toMatchObject({ kind: "failed", hasPassed: false })
              expect(decode(gate.received()), failure.name).toBe(
                decode(failure.reads).slice(0, decode(gate.received()).length)
              )
              down.push(heartbeat)
            }
            const { passed, standing } = run(wire, framing, answer)
            expect(standing).toEqual({ kind: "complete" })
            const bytes = Buffer.concat([...down, ...passed])
            expect(bytes.subarray(heartbeat.length * failures.length).equals(Buffer.concat(answer.reads))).toBe(true)
          }),
          { numRuns: RUNS }
        )
      })

      it(`${wire.format}, ${framing}: an answer that breaks off passes from its first content on, or not at all`, () => {
        fc.assert(
          fc.property(cutOff(wire, framing), ({ attempt, bytes }) => {
            const { passed, standing } = run(wire, framing, attempt)
            const down = Buffer.concat(passed)
            expect(down.length === 0 || down.equals(bytes)).toBe(true)
            // A blank after a document, or the last bracket of an array, may be missing.
            if (standing.kind !== "complete") {
              expect(standing).toMatchObject({ kind: "failed", hasPassed: down.length > 0 })
            }
            // The same bytes in one read.
            const whole = run(wire, framing, { ...attempt, reads: [bytes] })
            expect(Buffer.concat(whole.passed).equals(down)).toBe(true)
            expect(whole.standing).toEqual(standing)
          }),
          { numRuns: RUNS }
        )
      })
    }
  }
})

describe("ContentGate", () => {
  it("bytes pass with the frame that has content, not later", () => {
    for (const wire of wireFormats) {
      const gate = gateOf(wire, "events", head())
      for (const frame of wire.preamble) expect(gate.feed(encode(frame)), frame).toEqual([])
      const content = encode(wire.content[0] ?? "")
      expect(gate.feed(content.subarray(0, content.length - 1))).toEqual([])
      expect(gate.standing()).toEqual({ kind: "held" })
      const passed = gate.feed(content.subarray(content.length - 1))
      expect(decode(passed)).toBe(wire.preamble.join("") + wire.content[0])
      const more = encode("anything")
      expect(gate.feed(more)).toEqual([more])
      expect(gate.standing()).toEqual({ kind: "passing" })
      expect(gate.received()).toEqual([]) // what has passed is not kept
    }
  })

  it("white space and a byte order mark in reads of their own pass with the answer", () => {
    for (const wire of wireFormats) {
      for (const framing of framings(wire)) {
        const text = {
          events: [wire.content[0], ...wire.ending].join(""),
          array: `[${wire.document}]`,
          document: wire.document
        }
        const bytes = encode(`\uFEFF${framing === "events" ? "" : "\n "}${text[framing]}`)
        for (const reads of [cutAt(bytes, [1]), Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))]) {
          const { passed, standing } = run(wire, framing, { name: "", head: head(), reads })
          expect(standing, framing).toEqual({ kind: "complete" })
          expect(Buffer.concat(passed).equals(bytes)).toBe(true)
        }
      }
    }
  })

  it("usage is found at the end, whatever passed before, and however the bytes are cut", () => {
    for (const wire of wireFormats) {
      for (const filler of [0, 3000]) {
        const deltas = Array(filler).fill(wire.content[0])
        const text = [...wire.preamble, ...deltas, ...wire.content, ...wire.ending].join("")
        fc.assert(
          fc.property(fc.array(fc.nat(), { maxLength: 40, size: "max" }), (cuts) => {
            const reads = cutAt(encode(text), cuts)
            const { gate, standing } = run(wire, "events", { name: "", head: head(), reads })
            expect(gate.usage()).toEqual(wire.usage)
            expect(standing).toEqual({ kind: "complete" })
          }),
          { numRuns: filler === 0 ? 30 : 5 }
        )
      }
      const { gate } = run(wire, "document", { name: "", head: head(), reads: [encode(wire.document)] })
      if (wire.format !== "responses") expect(gate.usage()).toMatchObject({ inputTokens: 5 })
    }
  })

  it("an answer of one frame is complete with its first byte", () => {
    const one = (more: object) =>
      eventsOf(
        completions,
        `data:${JSON.stringify({ choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }], ...more })}\n\n`
      )
    expect(one({}).standing).toEqual({ kind: "complete" })
    const { gate, standing } = one({ usage: { prompt_tokens: 5 } })
    expect([standing, gate.usage()]).toEqual([{ kind: "complete" }, { inputTokens: 5 }])
  })

  it("usage is found in a last frame that repeats a long answer", () => {
    const completed = (size: number) =>
      `event: response.completed\ndata: {"type":"response.completed","response":{"output":["${"x".repeat(size)}"],"tools":[{"usage":{"a":{}}}],"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":2},"output_tokens":9},"user":null}}\n\n`
    for (const size of [10, 200_000]) {
      const text = (responses.content[0] ?? "") + completed(size)
      const pieces = Array.from({ length: text.length / 1000 }, (_, n) => n * 1000)
      for (const cuts of [[(responses.content[0] ?? "").length], pieces]) {
        const reads = cutAt(encode(text), cuts)
        const { gate, standing } = run(responses, "events", { name: "", head: head(), reads })
        expect(gate.usage()).toEqual(responses.usage)
        expect(standing).toEqual({ kind: "complete" })
      }
    }
  })

  it("the end is found behind a long frame with any line ends, and before pings", () => {
    const [content = ""] = messages.content
    const long = content.replace("Grüße", "x".repeat(100_000))
    const pings = Array<string>(5).fill('event: ping\ndata: {"type":"ping"}\n\n')
    for (const end of ["\n", "\r\n", "\r"]) {
      const frames = [content, long, ...messages.ending.slice(-1), ...pings].map((frame) => frame.replaceAll("\n", end))
      expect(eventsOf(messages, ...frames).standing).toEqual({ kind: "complete" })
    }
  })

  it("the end is found where the oldest bytes are dropped in the midst of it", () => {
    for (const wire of wireFormats) {
      const [content = ""] = wire.content
      const ending = wire.ending.join("")
      const comment = (length: number) => `: ${"x".repeat(length - 4)}\n\n`
      const rest = comment(KEPT - Buffer.byteLength(content + ending) + 5)
      const reads = [content, comment(KEPT), rest, ending.slice(0, -10), ending.slice(-10)].map(encode)
      expect(run(wire, "events", { name: "", head: head(), reads }).standing).toEqual({ kind: "complete" })
    }
  })

  it("rule C3: of two errors behind content the first counts, and none counts beside the end", () => {
    for (const wire of wireFormats) {
      const { content, ending, errors } = wire
      const [[first = "", reason = ""] = [], [second = ""] = []] = errors
      expect(eventsOf(wire, content[0] ?? "", first, second).standing).toMatchObject({ failure: { reason } })
      expect(eventsOf(wire, content[0] ?? "", ...ending, first).standing).toEqual({ kind: "complete" })
    }
  })

  it("rule C6, D4: after content a missing end and an error are failures with bytes passed", () => {
    for (const wire of wireFormats) {
      const [content = ""] = wire.content
      const [[error = "", reason = ""] = []] = wire.errors
      expect(eventsOf(wire, content).standing).toMatchObject({
        kind: "failed",
        hasPassed: true,
        failure: { reason: "network", retryable: true }
      })
      const { passed, standing } = eventsOf(wire, content, error)
      expect(standing).toMatchObject({ kind: "failed", hasPassed: true, failure: { reason } })
      expect(decode(passed)).toBe(content + error)
    }
  })

  it("an answer without content is complete at its end, and `[DONE]` alone is none", () => {
    for (const wire of wireFormats) {
      const { passed, standing } = eventsOf(wire, ...wire.preamble, ...wire.ending)
      expect(standing).toEqual({ kind: "complete" })
      expect(decode(passed)).toBe([...wire.preamble, ...wire.ending].join(""))
      expect(eventsOf(wire, ...wire.preamble, "data: [DONE]\n\n").standing).toMatchObject({ kind: "failed" })
    }
    const mark = eventsOf(completions, completions.content[0] ?? "", "data: [DONE]\n\n")
    expect(mark.standing).toEqual({ kind: "complete" })
  })

  it("a last frame without its blank line counts, unless it is cut off", () => {
    for (const wire of wireFormats) {
      const ending = wire.ending.slice(0, wire.format === "messages" ? 2 : 1).join("")
      const text = [...wire.preamble, ending.trimEnd()].join("")
      const { passed, standing } = eventsOf(wire, text)
      expect(standing).toEqual({ kind: "complete" })
      expect(decode(passed)).toBe(text)
      const cut = eventsOf(wire, text.slice(0, -1))
      expect(cut.standing).toMatchObject({ kind: "failed", hasPassed: false, failure: { reason: "network" } })
      const [[error = "", reason = ""] = []] = wire.errors
      const failed = eventsOf(wire, ...wire.preamble, error.trimEnd())
      expect(failed.standing).toMatchObject({ kind: "failed", failure: { reason } })
    }
  })

  it("rule C2: a status is classified with its hint, and its body is kept as it came", () => {
    const reads = [encode('{"error":{"message":"Rate'), encode(' limit"}}')]
    const { gate, standing } = run(completions, "events", { name: "", head: head(429, { "retry-after": "7" }), reads })
    expect(standing).toMatchObject({
      kind: "failed",
      hasPassed: false,
      failure: { reason: "rate-limited", status: 429, hint: { retryAfterMs: 7000 }, message: "Rate limit" }
    })
    expect(decode(gate.received())).toBe('{"error":{"message":"Rate limit"}}')
  })

  it("rule C1: secrets are removed from a failure, and from no byte that passes", () => {
    const conceal = (text: string) => text.replaceAll("sk-1", "[redacted]")
    const gate = (frame: string) => {
      const gate = gateOf(messages, "events", { ...head(), conceal })
      return { passed: gate.feed(encode(frame)), standing: gate.standing() }
    }
    const error = { type: "error", error: { type: "overloaded_error", message: "No: sk-1" } }
    expect(gate(`event: error\ndata: ${JSON.stringify(error)}\n\n`).standing).toMatchObject({
      failure: { message: "No: [redacted]" }
    })
    const delta = { type: "content_block_delta", delta: { type: "text_delta", text: "sk-1" } }
    expect(decode(gate(`data: ${JSON.stringify(delta)}\n\n`).passed)).toContain("sk-1")
  })

  it("an endpoint may answer a call for JSON with a stream, and a call for a stream with JSON", () => {
    for (const wire of wireFormats) {
      const text = [...wire.preamble, ...wire.content, ...wire.ending].join("")
      expect(decode(run(wire, "document", { name: "", head: head(), reads: [encode(text)] }).passed)).toBe(text)
      expect(decode(run(wire, "events", { name: "", head: head(), reads: [encode(wire.document)] }).passed)).toBe(
        wire.document
      )
    }
  })

  it("every recording passes whole, however it is cut", () => {
    for (const [wire, recorded] of [
      [completions, Wires.openAiCompatible],
      [messages, Wires.anthropicMessages]
    ] as const) {
      for (const frames of [recorded.text, recorded.reasoning, recorded.toolCall, recorded.noArguments]) {
        const text = frames.join("")
        fc.assert(
          fc.property(fc.array(fc.nat(), { maxLength: 30, size: "max" }), (cuts) => {
            const { gate, passed, standing } = run(wire, "events", {
              name: "",
              head: head(),
              reads: cutAt(encode(text), cuts)
            })
            expect(standing).toEqual({ kind: "complete" })
            expect(decode(passed)).toBe(text)
            if (frames === recorded.text) expect(gate.usage().outputTokens).toBeGreaterThan(0)
          }),
          { numRuns: 10 }
        )
      }
    }
  })

  it("an element of Gemini's array passes as soon as it is whole", () => {
    const gate = gateOf(gemini, "array", head())
    const element = '[{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}'
    expect(gate.feed(encode(element.slice(0, -1)))).toEqual([])
    expect(decode(gate.feed(encode("}")))).toBe(element)
    gate.feed(encode(',\n{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}}]'))
    gate.end()
    expect(gate.standing()).toEqual({ kind: "complete" })
    expect(gate.usage()).toEqual({ inputTokens: 5 })
  })
})
