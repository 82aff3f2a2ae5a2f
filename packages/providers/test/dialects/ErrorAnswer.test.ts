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

  it("a failure without an error status of its own has the status of its reason", () => {
    const expected: Readonly<Record<Failure.Reason, number>> = {
      "rate-limited": 429,
      "quota-exhausted": 429,
      overloaded: 503,
      "server-error": 500,
      network: 502,
      timeout: 504,
      "invalid-response": 502,
      auth: 401,
      "context-overflow": 400,
      refused: 400,
      "model-unavailable": 404,
      "bad-request": 400,
      aborted: 502,
      unknown: 502
    }
    for (const reason of Failure.Reason.literals) {
      for (const format of formats) {
        const status = reason === "overloaded" && format === "messages" ? 529 : expected[reason]
        expect(ErrorAnswer.statusOf({ reason }, format), reason).toBe(status)
        expect(ErrorAnswer.statusOf({ reason, status: 399 }, format)).toBe(status)
        expect(ErrorAnswer.statusOf({ reason, status: 400 }, format)).toBe(400)
      }
    }
  })

  it("each status has the type that the SDKs of its format know", () => {
    const types = (status: number) =>
      formats.map((format) => {
        const { error } = JSON.parse(ErrorAnswer.ofProblem({ status, message: "No." }, format).body)
        return format === "gemini" ? [error.code, error.status] : [error.type, ...(error.code ? [error.code] : [])]
      })
    const invalid = ["invalid_request_error"]
    const failed = ["server_error"]
    const limited = ["rate_limit_error", "rate_limit_exceeded"]
    const overloaded = ["server_error", "server_is_overloaded"]
    expect(formats).toEqual(["chat", "messages", "responses", "gemini"])
    for (const [status, chat, messages, gemini] of [
      [400, invalid, "invalid_request_error", "INVALID_ARGUMENT"],
      [401, ["authentication_error"], "authentication_error", "UNAUTHENTICATED"],
      [402, invalid, "billing_error", "INVALID_ARGUMENT"],
      [403, invalid, "permission_error", "PERMISSION_DENIED"],
      [404, invalid, "not_found_error", "NOT_FOUND"],
      [409, invalid, "invalid_request_error", "ABORTED"],
      [413, invalid, "request_too_large", "INVALID_ARGUMENT"],
      [426, invalid, "invalid_request_error", "FAILED_PRECONDITION"],
      [429, limited, "rate_limit_error", "RESOURCE_EXHAUSTED"],
      [499, invalid, "invalid_request_error", "CANCELLED"],
      [500, failed, "api_error", "INTERNAL"],
      [502, failed, "api_error", "UNAVAILABLE"],
      [503, overloaded, "overloaded_error", "UNAVAILABLE"],
      [504, failed, "timeout_error", "DEADLINE_EXCEEDED"],
      [529, failed, "overloaded_error", "UNAVAILABLE"]
    ] as const) {
      expect(types(status), String(status)).toEqual([chat, [messages], chat, [status, gemini]])
    }
  })

  it("the error by which an endpoint refused the call is in the frames, and frames of its own are sent as they came", () => {
    const own = JSON.stringify({ error: { message: "Full", type: "busy", code: "c9", param: "p" }, request_id: "r" })
    const frames = (...[format, framing, came]: [(typeof formats)[number], "events" | "array", string]) =>
      ErrorAnswer.framesOf(overloaded, format, framing, came)
    expect(frames("chat", "events", own)).toBe(`data: ${own}\n\n`)
    expect(frames("gemini", "events", own)).toBe(`data: ${own}\n\n`)
    expect(frames("messages", "events", own)).toBe(`event: error\ndata: ${own}\n\n`)
    expect(frames("gemini", "array", own)).toBe(`[${own}]`)
    for (const came of ["event: error\ndata: x", "data: x\n", "id: 1\ndata: x\n\n", ": busy\n\ndata: x\n\n"]) {
      expect(frames("chat", "events", came)).toBe(`${came.trimEnd()}\n\n`)
    }
    for (const came of ["Full", "{}", '{"message":"Full"}', "my data: x"]) {
      expect(frames("chat", "events", came)).toBe(frames("chat", "events", ""))
    }
  })

  it("Responses has an error and then a failed response, numbered, with the endpoint's code and message", () => {
    const sent = (came: string) =>
      AnswerFrames.all(
        AnswerFrames.ofEvents(),
        encode(ErrorAnswer.framesOf(overloaded, "responses", "events", came) ?? "")
      ).map(({ data, event }) => [event, JSON.parse(data)])
    for (const [came, error] of [
      ["", { code: "server_is_overloaded", message: overloaded.message, param: null, type: "server_error" }],
      ['{"error":"Full"}', { code: "server_is_overloaded", message: overloaded.message, param: null }],
      ['{"error":{"message":"Full","code":"c9","param":"p"}}', { code: "c9", message: "Full", param: "p" }]
    ] as const) {
      const { code, message, param } = error
      expect(sent(came)).toMatchObject([
        ["error", { type: "error", sequence_number: 0, code, message, param, error }],
        [
          "response.failed",
          {
            type: "response.failed",
            sequence_number: 1,
            response: { status: "failed", output: [], error: { code, message } }
          }
        ]
      ])
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
