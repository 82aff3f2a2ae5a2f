import { describe, expect, it } from "@effect/vitest"
import type { Observer } from "@holdfast/kernel"
import { Eventful, Scenario } from "@holdfast/kernel/testing"
import * as conventions from "@opentelemetry/semantic-conventions/incubating"
import { Fiber } from "effect"
import * as Spans from "../../../../src/ops/telemetry/traces/Spans.ts"
import * as Observations from "../Observations.ts"
import * as It from "../../../It.ts"

const addressOf = () => new URL("https://api.openai.com/v1")

/** A turn that was retried, called a tool, and answered. */
const spans: ReadonlyArray<Spans.Span> = [
  ...Spans.ofAttempt(Observations.attempt(), addressOf),
  ...Spans.ofWait(Observations.wait()),
  ...Spans.ofTool(Observations.tool()),
  ...Spans.ofAttempt(
    Observations.attempt({
      ...Observations.place,
      step: 1,
      stepStartedAt: 4_000,
      attempt: 0,
      firstContentAt: 1_750,
      outcome: Observations.completed
    }),
    addressOf
  ),
  ...Spans.ofSeal(Observations.seal({ steps: 2 }))
]

const byName = (name: string): Spans.Span => spans.find((span) => span.name === name) ?? expect.fail(`no span ${name}`)

/** The names of attributes that are neither Holdfast's nor of the conventions. */
const unknownIn = (spans: ReadonlyArray<Spans.Span>): ReadonlyArray<string> => {
  const known = new Set<unknown>(Object.values(conventions))
  const names = spans.flatMap(({ attributes }) => Object.keys(attributes))
  return names.filter((name) => !name.startsWith("holdfast.") && !known.has(name))
}

describe("spans", () => {
  it("rule X11: a wait that asks has one span, when it is over", () => {
    const asks = { because: "request" as const, tokens: 9, limit: 5, waitedMs: 5_000, message: "More than 5 tokens." }
    const asked = Observations.wait({ wake: { type: "asked", until: 60_000, asks } })
    expect(Spans.ofWait(asked)).toEqual([])
    expect(Spans.ofWait(Observations.wait({ wake: { type: "now" }, retryAt: 60_000, at: 9_000 }))).toHaveLength(1)
  })

  it("rule A12: of an attempt have an attribute for a refused report, and none for an accepted one", () => {
    const refused = (report: "accepted" | "malformed" | undefined) =>
      Spans.ofAttempt(Observations.attempt({ report }), addressOf)[0]?.attributes["holdfast.report.refused"]
    expect([refused("malformed"), refused("accepted"), refused(undefined)]).toEqual([true, undefined, undefined])
  })

  it("rule A16: are those of turn, steps, attempts, waits and tools, each below its parent", () => {
    const turn = byName("invoke_agent holdfast")
    expect(turn.parentSpanId).toBeUndefined()
    expect(byName("step 0").parentSpanId).toBe(turn.spanId)
    expect(byName("step 1").parentSpanId).toBe(turn.spanId)
    for (const name of ["chat gpt-5", "retry wait", "execute_tool search"]) {
      expect(byName(name).parentSpanId).toBe(byName("step 0").spanId)
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
  })

  it("of one turn are one trace, and the same in every process", () => {
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([Spans.traceIdOf("t1")]))
    expect(Spans.traceIdOf("t1")).toMatch(/^[0-9a-f]{32}$/)
    expect(Spans.traceIdOf("t1")).not.toBe(Spans.traceIdOf("t2"))
    for (const { spanId } of spans) expect(spanId).toMatch(/^[0-9a-f]{16}$/)
  })

  it("have no text of prompts, answers, arguments or failures", () => {
    const all = JSON.stringify(spans)
    expect(all).not.toContain("secret")
    expect(all).not.toContain("Overloaded")
  })

  it("have the attributes that the conventions require, and no other gen_ai name", () => {
    expect(byName("chat gpt-5").attributes).toMatchObject({ "error.type": "overloaded", "server.port": 443 })
    expect(byName("execute_tool search").attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "search",
      "gen_ai.tool.call.id": "call-1"
    })
    expect(unknownIn(spans)).toEqual([])
  })

  it("have what is known of an attempt, and nothing else: times in seconds, the usage, the port", () => {
    const attributesOf = (given: Parameters<typeof Observations.attempt>[0], address?: string) =>
      Spans.ofAttempt(Observations.attempt(given), () => URL.parse(address ?? "") ?? undefined)[0]?.attributes
    const known = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-5",
      "gen_ai.conversation.id": "c1",
      "gen_ai.request.stream": true,
      "holdfast.turn.id": "t1",
      "holdfast.step": 0,
      "holdfast.attempt": 0
    }
    const answered = {
      ...known,
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5
    }
    const outcome = Observations.completed
    expect(attributesOf({ firstContentAt: 1_750, outcome }, "http://a")).toEqual({
      ...answered,
      "gen_ai.response.time_to_first_chunk": 0.25,
      "server.address": "a",
      "server.port": 80
    })
    expect(attributesOf({ firstContentAt: 1_750, outcome, startedAt: undefined })).toEqual(answered)
    expect(attributesOf({ outcome: { ...Observations.failed, usage: { inputTokens: 3 } } }, "https://a:81")).toEqual({
      ...known,
      "gen_ai.usage.input_tokens": 3,
      "server.address": "a",
      "server.port": 81,
      "error.type": "overloaded",
      "http.response.status_code": 529
    })
    const compacted = { _tag: "Compacted", usage: { inputTokens: 7 } } as Observer.CompactionEnded["outcome"]
    const given = { ...Observations.place, attempt: 1, startedAt: 1_500, outcome: compacted }
    expect(Spans.ofCompaction(given)[0]?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 7 })
    const failed = { _tag: "Failed", failure: Observations.overloaded, spread: 0, endedAt: 1 } as const
    expect(Spans.ofCompaction({ ...given, outcome: failed })[0]?.error).toBe("overloaded")
    const errorOf = (tool: Parameters<typeof Observations.tool>[0]) => Spans.ofTool(Observations.tool(tool))[0]?.error
    const malformed = { ...Observations.tool().call, malformed: "{" }
    expect([{}, { isError: true }, { call: malformed, isError: true }].map(errorOf)).toEqual([
      undefined,
      "tool_error",
      "malformed_arguments"
    ])
  })

  It.live(
    "rule A16: of a turn with compaction, another target and guidance make one tree, with all its attempts",
    function* () {
      const spans: Array<Spans.Span> = []
      const { fiber } = yield* Scenario.straight({
        ...Eventful.turn(),
        observer: {
          attempt: (ended) => void spans.push(...Spans.ofAttempt(ended, addressOf)),
          compaction: (ended) => void spans.push(...Spans.ofCompaction(ended)),
          tool: (ended) => void spans.push(...Spans.ofTool(ended)),
          seal: (sealed) => void spans.push(...Spans.ofSeal(sealed))
        }
      })
      const end = yield* Fiber.join(fiber)
      const ids = new Set(spans.map(({ spanId }) => spanId))
      expect(ids.size).toBe(spans.length)
      expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined).map(({ name }) => name)).toEqual([
        "invoke_agent holdfast"
      ])
      expect(spans.filter(({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId))).toEqual([])
      const attempts = spans.filter(({ name }) => name.startsWith("chat ") || name === "compact")
      expect(attempts.length).toBe(end.attempts)
      expect(attempts.map(({ name }) => name).join(", ")).toBe(
        "chat model, compact, chat model, chat big, chat big, chat model, chat model"
      )
      expect(spans.at(-1)?.attributes).toMatchObject({ "holdfast.turn.report": "tool-call" })
      expect(unknownIn(spans)).toEqual([])
    }
  )

  it("of a turn with an unfinished step are two: the step's too", () => {
    const named = (seal: Parameters<typeof Observations.seal>[0]) =>
      Spans.ofSeal(Observations.seal(seal)).map(({ error = "", name }) => `${name}: ${error}`)
    const failed = named({ status: "failed", error: Observations.overloaded, steps: 0 })
    expect(failed).toEqual(["step 0: overloaded", "invoke_agent holdfast: overloaded"])
    expect(named({ status: "aborted", attempts: 0 })).toEqual(["invoke_agent holdfast: aborted"])
  })

  it("of a step with several tool calls end with the last call", () => {
    const names = Spans.ofTool(Observations.tool({ othersRunning: 1 })).map(({ name }) => name)
    expect(names).toEqual(["execute_tool search"])
  })
})
