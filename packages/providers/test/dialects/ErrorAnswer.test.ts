import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import * as Dialects from "../../src/dialects/Dialects.ts"
import * as ErrorAnswer from "../../src/dialects/ErrorAnswer.ts"
import * as AnswerFrames from "../../src/dialects/AnswerFrames.ts"
import { encode, head, wireFormats } from "../harness/WireFormats.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: 'Overloaded "now"', retryable: true }

const formats = wireFormats.map(({ format }) => format)

describe("ErrorAnswer", () => {
  it("a failure has the status and body that its format's clients read", () => {
    const of = (format: (typeof formats)[number], failure = overloaded) => {
      const { body, status } = ErrorAnswer.ofFailure(failure, format)
      return { status, body: JSON.parse(body) }
    }
    const openAi = {
      status: 503,
      body: {
        error: { message: 'Overloaded "now"', type: "server_error", param: null, code: "server_is_overloaded" }
      }
    }
    expect(of("chat")).toEqual(openAi)
    expect(of("responses")).toEqual(openAi)
    expect(of("messages")).toEqual({
      status: 529,
      body: { type: "error", error: { type: "overloaded_error", message: 'Overloaded "now"' } }
    })
    expect(of("gemini")).toEqual({
      status: 503,
      body: { error: { code: 503, message: 'Overloaded "now"', status: "UNAVAILABLE" } }
    })
    expect(of("chat", { ...overloaded, status: 502, code: "upstream" })).toMatchObject({
      status: 502,
      body: { error: { code: "upstream" } }
    })
  })

  it("the client is asked not to repeat a call that was given up", () => {
    for (const format of formats) {
      expect(ErrorAnswer.ofFailure(overloaded, format).headers).toEqual({
        "content-type": "application/json",
        "x-should-retry": "false"
      })
    }
  })

  it("every reason has an error status, and its own class of failure comes back from body and frames", () => {
    for (const format of formats) {
      for (const reason of Failure.Reason.literals) {
        const failure: Failure.Failure = { reason, message: "It did not work out.", retryable: false }
        const { body, status } = ErrorAnswer.ofFailure(failure, format)
        expect(status).toBeGreaterThanOrEqual(400)
        expect(Dialects.byFormat[format].judgeDocument(body, head(status))).toMatchObject({
          kind: "error",
          failure: { message: "It did not work out.", status }
        })
        for (const [framing, split] of [
          ["events", AnswerFrames.ofEvents],
          ["array", AnswerFrames.ofArray]
        ] as const) {
          const text = ErrorAnswer.framesOf(failure, format, framing) ?? ""
          const judgements = AnswerFrames.all(split(), encode(text)).map((frame) =>
            Dialects.byFormat[format].judge(frame, head())
          )
          expect(judgements[0], text).toMatchObject({ kind: "error", failure: { message: "It did not work out." } })
          expect(judgements.every(({ kind }) => kind === "error")).toBe(true)
        }
      }
    }
  })

  it("a JSON answer that has begun has no frame for a failure", () => {
    for (const format of formats) expect(ErrorAnswer.framesOf(overloaded, format, "document")).toBeUndefined()
  })

  it("a problem of the gateway is written in the format of its path", () => {
    const type = (status: number, format: (typeof formats)[number]) =>
      JSON.parse(ErrorAnswer.ofProblem({ status, message: "No provider named `x`." }, format).body).error
    expect(type(404, "messages")).toEqual({ type: "not_found_error", message: "No provider named `x`." })
    expect(type(401, "messages").type).toBe("authentication_error")
    expect(type(413, "messages").type).toBe("request_too_large")
    expect(type(426, "messages").type).toBe("invalid_request_error")
    expect(type(401, "chat")).toMatchObject({ type: "authentication_error", code: null })
    expect(type(404, "responses").type).toBe("invalid_request_error")
    expect(type(404, "gemini").status).toBe("NOT_FOUND")
    expect(type(401, "gemini").status).toBe("UNAUTHENTICATED")
    expect(type(413, "gemini").status).toBe("INVALID_ARGUMENT")
  })
})
