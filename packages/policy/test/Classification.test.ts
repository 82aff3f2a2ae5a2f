import { defined, Failure } from "@holdfast/wire"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as fc from "fast-check"
import * as Classification from "../src/classification/Classification.ts"
import * as Codes from "../src/classification/Codes.ts"
import * as Reasons from "../src/classification/Reasons.ts"

const now = Date.UTC(2026, 2, 1, 12)

const respond = (status: number, body: unknown = "", headers: Record<string, string> = {}) =>
  Classification.ofResponse({ status, headers, body: typeof body === "string" ? body : JSON.stringify(body), now })

const frame = (data: unknown, event?: string, headers: Record<string, string> = {}) =>
  Classification.ofStreamError({
    data: typeof data === "string" ? data : JSON.stringify(data),
    headers,
    now,
    ...defined({ event })
  })

const thrown = (error: unknown) => Classification.ofThrown(error, now)

/** The reason in an error's text alone. */
const ofText = (text: string) => Reasons.decide({ status: undefined, codes: [], texts: [text] })?.reason

const isFailure = Schema.is(Failure.Failure)

describe("by status", () => {
  it("rule C2: 408, 409, 425, 429, 499, 498 and every 5xx are retryable", () => {
    const statuses = [408, 409, 425, 429, 498, 499, ...Array.from({ length: 100 }, (_, i) => 500 + i)]
    for (const status of statuses) expect([status, respond(status).retryable]).toEqual([status, true])
  })

  it("rule C2: every other 4xx is not", () => {
    const retryable = new Set([408, 409, 425, 429, 498, 499])
    for (let status = 400; status < 500; status++) {
      if (!retryable.has(status)) expect([status, respond(status).retryable]).toEqual([status, false])
    }
  })

  it.each([
    [400, "bad-request"],
    [401, "auth"],
    [402, "quota-exhausted"],
    [403, "auth"],
    [404, "bad-request"],
    [408, "timeout"],
    [413, "context-overflow"],
    [429, "rate-limited"],
    [500, "server-error"],
    [503, "overloaded"],
    [504, "timeout"],
    [520, "server-error"],
    [524, "timeout"],
    [529, "overloaded"]
  ])("rule C2: a bare %i is %s", (status, reason) => {
    expect(respond(status)).toMatchObject({ reason, status })
  })

  it("rule C2: a 404 that names a model is model-unavailable, a 404 of a wrong address is a bad request", () => {
    expect(respond(404, { error: { message: "The model `x` does not exist" } }).reason).toBe("model-unavailable")
    expect(respond(404, "404 page not found").reason).toBe("bad-request")
  })

  it("rule C2: x-should-retry overrides the status, both ways", () => {
    expect(respond(500, "", { "x-should-retry": "false" }).retryable).toBe(false)
    expect(respond(400, "", { "x-should-retry": "true" }).retryable).toBe(true)
  })

  it("rule C2: a used-up quota is retryable only if a reset is named", () => {
    const body = { error: { type: "usage_limit_reached", message: "The usage limit has been reached" } }
    expect(respond(429, body)).toMatchObject({ reason: "quota-exhausted", retryable: false })
    expect(respond(429, body, { "retry-after": "3600" })).toMatchObject({
      retryable: true,
      hint: { retryAfterMs: 3_600_000, source: "retry-after" }
    })
  })

  it("rule C2: a throttle's reset is not the reset of a used-up quota", () => {
    const failure = respond(
      429,
      { error: { code: "insufficient_quota", message: "no" } },
      {
        "x-ratelimit-reset-tokens": "6m0s"
      }
    )
    expect(failure).toEqual({
      reason: "quota-exhausted",
      message: "no",
      retryable: false,
      status: 429,
      code: "insufficient_quota"
    })
  })
})

describe("by code", () => {
  it("rule P2: a code that counts tokens is an overflow, and at 429 a rate limit: a request that is too long never gets 429", () => {
    const body = { error: { type: "too_many_tokens_error", message: "Tokens per minute limit exceeded" } }
    expect(respond(429, body).reason).toBe("rate-limited")
    expect(respond(400, { code: "TOO_MANY_TOKENS", message: "no" })).toMatchObject({
      reason: "context-overflow",
      code: "TOO_MANY_TOKENS",
      retryable: false
    })
    expect(respond(400, { message: "too many tokens: size limit exceeded by 11326 tokens." }).reason).toBe(
      "context-overflow"
    )
  })

  it("rule C2: Z.ai's codes: a week's quota is used up, frequent requests are rate-limited", () => {
    const said = (code: string, message: string) => respond(429, { error: { code, message } })
    expect(said("1310", "Weekly/Monthly Limit Exhausted.")).toMatchObject({
      reason: "quota-exhausted",
      retryable: false
    })
    expect(said("1313", "Your request frequency has been limited.")).toMatchObject({
      reason: "rate-limited",
      retryable: true
    })
  })

  it("rule C2: 402 is a used-up quota, for any code of a gateway for its upstream's error", () => {
    expect(respond(402, { type: "server_error", message: "Upstream request failed" }).reason).toBe("quota-exhausted")
    expect(respond(402, { error: { type: "authentication_error", message: "no" } }).reason).toBe("auth")
  })

  it("rule P1: an exact code wins over any text and any status but 413", () => {
    const transient = fc.constantFrom(
      "overloaded",
      "rate limit",
      "timed out",
      "socket hang up",
      "500",
      "prompt is too long"
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...Codes.known("exact")),
        transient,
        fc.constantFrom(200, 400, 401, 403, 404, 429, 500, 503, 529),
        ([code, reason], message, status) => {
          fc.pre(!(status === 429 && Codes.countsTokens(code)))
          expect(respond(status, { error: { code, message } }).reason).toBe(reason)
        }
      )
    )
  })

  it("rule P1: a family's code wins over text, unless the text names overflow or a used-up quota", () => {
    for (const [code, reason] of Codes.known("family")) {
      expect(frame({ error: { code, message: "Overloaded, socket hang up, 500" } }).reason).toBe(reason)
      expect(frame({ error: { code, message: "Request too large for gpt-5 on tokens per min" } }).reason).toBe(
        "context-overflow"
      )
    }
  })

  it("rule C2: a vague code leaves the decision to the status", () => {
    expect(respond(401, { error: { type: "invalid_request_error", message: "no" } }).reason).toBe("auth")
    expect(frame({ error: { type: "invalid_request_error", message: "no" } }).reason).toBe("bad-request")
  })

  it("rule C2: a 4xx outweighs a type that every error may have, and not a code of a passing state", () => {
    for (const type of ["server_error", "api_error", "internal_error", "InternalServerError"]) {
      for (const status of [400, 404, 405, 422]) {
        expect(respond(status, { error: { type, message: "no" } })).toMatchObject({
          reason: "bad-request",
          retryable: false
        })
      }
    }
    expect(respond(401, { error: { type: "server_error", message: "no" } }).reason).toBe("auth")
    for (const [code, reason] of [
      ["rate_limit_exceeded", "rate-limited"],
      ["overloaded_error", "overloaded"],
      ["model_stream_error", "server-error"]
    ] as const) {
      expect(respond(424, { error: { code, message: "no" } })).toMatchObject({ reason, retryable: true })
    }
    expect(frame({ error: { type: "server_error", message: "no" } })).toMatchObject({
      reason: "server-error",
      retryable: true
    })
  })

  it("rule C2, P2: a text of overflow outweighs such a type, at any status", () => {
    const error = { type: "server_error", message: "This model's maximum context length is 8192 tokens." }
    for (const status of [400, 422, 500, 503]) expect(respond(status, { error }).reason).toBe("context-overflow")
    expect(frame({ error }).reason).toBe("context-overflow")
  })

  it("rule C2: a redirect is final, and its address is named without secrets", () => {
    const to = (location: string) => respond(307, "<html>Moved</html>", { location })
    expect(to("https://u:pw@new.example/v1;s=s1?token=t1&a&b=t2?t3#t4")).toMatchObject({
      reason: "bad-request",
      retryable: false,
      status: 307,
      message: expect.stringContaining(
        "https://new.example/v1;s=[redacted]?token=[redacted]&[redacted]&b=[redacted] (HTTP 307)"
      )
    })
    expect(to("/v2/chat").message).toContain("Redirected to /v2/chat (HTTP 307)")
    expect(to(`/${"x".repeat(100_000)}`).message.length).toBeLessThan(1_000)
    expect(respond(304)).toMatchObject({ reason: "bad-request", retryable: false })
  })

  it("rule C12, P1, P7: a usage limit in words is the key's, and passes unless the status is final", () => {
    const said = (status: number, error: object) => respond(status, { error })
    const message = "You have reached your usage limit"
    expect(said(429, { message })).toMatchObject({ reason: "quota-exhausted", retryable: true })
    expect(said(429, { message, type: "rate_limit_error" })).toMatchObject({
      reason: "quota-exhausted",
      retryable: true
    })
    expect(said(403, { message })).toMatchObject({ reason: "quota-exhausted", retryable: false })
    expect(frame({ error: { message } })).toMatchObject({ reason: "quota-exhausted", retryable: true })
    expect(respond(429, { error: { message } }, { "x-should-retry": "false" }).retryable).toBe(false)
    expect(said(429, { message: "Server is temporarily limiting requests (not your usage limit)" }).reason).toBe(
      "rate-limited"
    )
  })

  it("rule C2: a refusal of a country or region is not a wrong key", () => {
    for (const [status, message] of [
      [403, "Country, region, or territory not supported"],
      [400, "User location is not supported for the API use."],
      [400, "Access to Anthropic models is not allowed from unsupported countries, regions, or territories."],
      [403, "This service is not available in your region."]
    ] as const) {
      expect(respond(status, { error: { message, type: "permission_error" } })).toMatchObject({
        reason: "model-unavailable",
        retryable: false
      })
    }
  })

  it.each([
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
    "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
    "Too many input tokens. Max input tokens: 8192, request input token count: 9279",
    "AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000)",
    "Total tokens of image and text exceed max message tokens.",
    "Requested input length 40000 exceeds maximum input length 32768",
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    "the input length exceeds the context length"
  ])("rule P2: %j is an overflow", (message) => {
    for (const status of [400, 429, 500])
      expect(respond(status, { error: { message } }).reason).toBe("context-overflow")
  })

  it("rule C1: no code has two meanings", () => {
    const all = [...Codes.known("exact"), ...Codes.known("family"), ...Codes.known("vague")]
    for (const [code, reason] of all) expect([code, Codes.classifiedOf(code)?.reason]).toEqual([code, reason])
  })

  it("rule C1: spellings of a code are one code", () => {
    for (const code of ["RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "rate-limit-exceeded", "RateLimitExceededError"]) {
      expect(Codes.classifiedOf(code)?.reason).toBe("rate-limited")
    }
  })
})

describe("by text", () => {
  it.each([
    ["Overloaded", "overloaded"],
    ["Provider returned error", "server-error"],
    ["Rate limit exceeded", "rate-limited"],
    ["You've hit your usage limit", "quota-exhausted"],
    ["Too Many Requests", "rate-limited"],
    ["got status 429", "rate-limited"],
    ["Error: 500", "server-error"],
    ["502", "server-error"],
    ["HTTP 503", "overloaded"],
    ["upstream said 504.", "timeout"],
    ["Service Unavailable", "overloaded"],
    ["internal server error", "server-error"],
    ["An internal error occurred", "server-error"],
    ["You can retry your request", "server-error"],
    ["retry delay exceeded", "server-error"],
    ["network error", "network"],
    ["Connection refused", "network"],
    ["The socket connection was closed unexpectedly", "network"],
    ["upstream connect error or disconnect/reset before headers", "network"],
    ["socket hang up", "network"],
    ["Request timed out.", "timeout"],
    ["fetch failed", "network"],
    ["terminated", "network"],
    ["stream ended before message_start", "network"],
    ["prompt is too long: 9 > 8", "context-overflow"],
    ["The operation was aborted", "aborted"]
  ])("rule P1: %j is %s", (text, reason) => {
    expect(ofText(text)).toBe(reason)
  })

  it.each([
    "max_tokens must be at most 500",
    "limit of 500 tokens",
    "1,500 characters",
    "costs $500",
    "500ms",
    "step 429/500",
    "id req-503-x",
    "version 5.502.1",
    "the flux capacitor is cold"
  ])("rule P1: %j has no reason", (text) => {
    expect(ofText(text)).toBeUndefined()
  })

  it("rule C4: quotations in a message are not read", () => {
    for (const quote of ["'", '"', "`"]) {
      expect(ofText(`Invalid value: ${quote}rate limit 500, overloaded${quote}`)).toBeUndefined()
    }
    expect(ofText("This model's maximum context length is 5 tokens, isn't it")).toBe("context-overflow")
  })
})

describe("inside a stream", () => {
  it("rule C3: an error frame is classified like any other failure", () => {
    const data = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
    expect(frame(data, "error")).toEqual({
      reason: "overloaded",
      message: "Overloaded",
      retryable: true,
      code: "overloaded_error"
    })
  })

  it("rule C3: the status in an error object replaces that of the stream", () => {
    expect(frame({ error: { code: 503, message: "no" }, choices: [] })).toMatchObject({
      reason: "overloaded",
      status: 503
    })
  })

  it("rule C3: an event's name is a code if the data has none", () => {
    expect(frame({ message: "no" }, "overloaded_error").reason).toBe("overloaded")
  })

  it("rule C3: a frame without a known error is unknown, and retryable", () => {
    expect(frame({ error: { message: "hm" } })).toEqual({ reason: "unknown", message: "hm", retryable: true })
    expect(frame("")).toMatchObject({ reason: "unknown", retryable: true })
  })

  it("rule C3: a page, an empty body and a JSON answer at 200 are invalid responses, and 200 is not reported", () => {
    for (const body of ["<html><title>Hi</title></html>", "", '{"id":"x"}', "{"]) {
      const failure = respond(200, body)
      expect(failure).toMatchObject({ reason: "invalid-response", retryable: true })
      expect(failure.status).toBeUndefined()
    }
  })

  it("rule C4: half a frame may be a model's output, and is not read", () => {
    expect(frame('{"choices":[{"delta":{"content":"prompt is too long').reason).toBe("invalid-response")
  })

  it("rule C4: only the error object is read", () => {
    const words = "overloaded 503 rate limit prompt is too long insufficient_quota"
    const failure = respond(400, {
      error: { message: "bad role", type: "invalid_request_error", param: words, failed_generation: words },
      input: words,
      choices: [{ message: { content: words } }]
    })
    expect(failure).toMatchObject({ reason: "bad-request", message: "bad role", retryable: false })
  })

  it("rule C6: a stream without its terminal event is a network failure", () => {
    expect(Classification.incomplete()).toEqual({
      reason: "network",
      message: "The stream ended before its terminal event",
      retryable: true
    })
    expect(Classification.incomplete("cut after 3 events").message).toBe("cut after 3 events")
  })

  it("rule C8: the messages of both limits name the missing content", () => {
    expect(Classification.timedOut("first-content", 600_000)).toEqual({
      reason: "timeout",
      message: "No content within 10 m of the request",
      retryable: true
    })
    expect(Classification.timedOut("idle", 90_000).message).toBe("No further content for 1 m 30 s")
  })
})

describe("thrown errors", () => {
  const reset = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })

  it("rule C5: causes are followed five deep, and no further", () => {
    const wrap = (depth: number): unknown => {
      let error: unknown = reset()
      for (let i = 0; i < depth; i++) error = new Error(`layer ${i}`, { cause: error })
      return error
    }
    for (let depth = 0; depth <= 5; depth++) expect(thrown(wrap(depth))).toMatchObject({ reason: "network" })
    expect(thrown(wrap(6))).toMatchObject({ reason: "unknown", message: "layer 5" })
  })

  it("rule C5: the outermost typed error decides", () => {
    const inner = Object.assign(new Error("no"), { status: 500 })
    expect(thrown(Object.assign(new Error("yes", { cause: inner }), { status: 429 }))).toMatchObject({ status: 429 })
  })

  it("rule C5: a chain that is a circle ends", () => {
    const error = new Error("round")
    error.cause = error
    expect(thrown(error)).toMatchObject({ reason: "unknown", message: "round" })
  })

  it("rule C5: fifty errors are read, and no more", () => {
    const part = (n: number) => new Error(`part ${n}`)
    const parts = (before: number) => [
      ...Array.from({ length: before }, (_, n) => part(n)),
      Object.assign(part(before), { status: 429 })
    ]
    expect(thrown(new AggregateError(parts(48), "all failed"))).toMatchObject({ status: 429 })
    expect(thrown(new AggregateError(parts(49), "all failed"))).not.toHaveProperty("status")
  })

  it("rule C1: no character of a header's value that a runtime quotes is in the message", () => {
    for (const quote of ['"', "'", "`"]) {
      const error = new TypeError(`Headers.append: ${quote}sk-secret${quote} is an invalid header value.`)
      expect(thrown(error).message).toBe(`TypeError: Headers.append: ${quote}…${quote} is an invalid header value.`)
    }
    const other = new Error('The field "a" is not known, nor is "b".')
    expect(thrown(other).message).toBe(other.message)
  })

  it("rule C5: an error that occurs many times is read once, and hides no other", () => {
    const same = new Error("no")
    const parts = [...Array.from({ length: 49 }, () => same), Object.assign(new Error("slow down"), { status: 429 })]
    expect(thrown(new AggregateError(parts, "all failed"))).toMatchObject({ status: 429, reason: "rate-limited" })
  })

  it("rule C5: a failure that is classified already is unchanged", () => {
    const failure: Failure.Failure = { reason: "refused", message: "no", retryable: false, code: "x" }
    expect(thrown(new Failure.ProviderFailure({ failure }))).toEqual(failure)
    expect(thrown(new Error("wrapped", { cause: new Failure.ProviderFailure({ failure }) }))).toEqual(failure)
  })

  it("rule C5: a delay in the text of a thrown error is its hint", () => {
    expect(thrown(new Error("Rate limit reached. Please try again in 20s"))).toEqual({
      reason: "rate-limited",
      message: "Rate limit reached. Please try again in 20s",
      retryable: true,
      hint: { retryAfterMs: 20_000, source: "body" }
    })
  })

  it("rule C10: an error of the program itself is a defect, and is retryable for the kernel to limit", () => {
    for (const error of [new TypeError("x is not a function"), new RangeError("no"), new ReferenceError("no")]) {
      expect(thrown(error)).toEqual({
        reason: "unknown",
        message: `${error.name}: ${error.message}`,
        retryable: true,
        defect: true
      })
    }
    expect(thrown(new SyntaxError("Invalid regular expression")).defect).toBe(true)
  })

  it("rule C10: a failed fetch and broken JSON are no bugs", () => {
    for (const message of ["fetch failed", "terminated", "Failed to fetch", "Load failed", "network error"]) {
      expect(thrown(new TypeError(message))).toMatchObject({ reason: "network", retryable: true })
      expect(thrown(new TypeError(message)).defect).toBeUndefined()
    }
    expect(thrown(new SyntaxError("Unexpected end of JSON input"))).toMatchObject({ reason: "invalid-response" })
  })

  it("rule M3: an abort that the user did not request is transient, unless another error caused it", () => {
    expect(thrown(new DOMException("This operation was aborted", "AbortError"))).toMatchObject({
      reason: "aborted",
      retryable: true
    })
    const error = Object.assign(new Error("aborted", { cause: reset() }), { name: "AbortError" })
    expect(thrown(error)).toMatchObject({ reason: "network", code: "ECONNRESET" })
  })

  it("rule C4: a request attached to an error is not read and not shown", () => {
    const failure = thrown({
      config: { headers: { authorization: "Bearer sk-planted" }, data: "overloaded rate limit" },
      request: { body: "prompt is too long" },
      requestBodyValues: { prompt: "insufficient_quota" }
    })
    expect(failure).toEqual({ reason: "unknown", message: "An error without a message", retryable: true })
  })
})

describe("messages", () => {
  it("rule C1: the innermost message is shown, verbatim", () => {
    const inner = JSON.stringify({ error: { message: "  Spaces and\nlines, kept ", type: "overloaded_error" } })
    expect(frame({ error: { message: inner, code: 529 } })).toMatchObject({
      message: "  Spaces and\nlines, kept ",
      code: "overloaded_error",
      status: 529
    })
  })

  it("rule C1: a long message is cut", () => {
    const { message } = respond(500, "x".repeat(100_000))
    expect(message).toHaveLength(Classification.MESSAGE_LIMIT)
    expect(message.endsWith("…")).toBe(true)
  })
})

describe("laws", () => {
  const headers = fc.dictionary(
    fc.constantFrom("retry-after", "retry-after-ms", "x-should-retry", "x-ratelimit-reset", "date", "content-type"),
    fc.oneof(fc.string(), fc.integer().map(String), fc.constantFrom("true", "false", "1e999", "-5", "NaN"))
  )
  const words = fc.constantFrom(
    "overloaded",
    "prompt is too long",
    "rate_limit_error",
    "insufficient_quota",
    "429",
    "<html>"
  )
  const errorObject = fc.letrec((tie) => ({
    error: fc.dictionary(
      fc.constantFrom(
        "error",
        "message",
        "type",
        "code",
        "status",
        "details",
        "metadata",
        "raw",
        "errors",
        "detail",
        "choices"
      ),
      fc.oneof(
        { depthSize: "small" },
        words,
        fc.integer({ min: 0, max: 700 }),
        fc.string(),
        tie("error"),
        fc.array(tie("error"), { maxLength: 3 })
      )
    )
  })).error
  const body = fc.oneof(
    fc.string(),
    words,
    fc.jsonValue().map((value) => JSON.stringify(value)),
    errorObject.map((value) => JSON.stringify(value))
  )

  const sound = (failure: Failure.Failure): void => {
    expect(isFailure(failure)).toBe(true)
    expect(failure.message.length).toBeLessThanOrEqual(Classification.MESSAGE_LIMIT)
    if (failure.hint !== undefined) expect(Number.isFinite(failure.hint.retryAfterMs)).toBe(true)
    if (failure.hint !== undefined) expect(failure.hint.retryAfterMs).toBeGreaterThanOrEqual(0)
    if (failure.reason === "context-overflow") expect(failure.retryable).toBe(false)
    if (failure.defect === true) expect(failure.reason).toBe("unknown")
  }

  it("rule C1, P2: any response has a failure, and an overflow is never retryable", () => {
    fc.assert(
      fc.property(fc.integer({ min: -10, max: 1200 }), headers, body, (status, headers, body) => {
        sound(Classification.ofResponse({ status, headers, body, now }))
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule C1, C3: any frame has a failure", () => {
    fc.assert(
      fc.property(body, headers, fc.option(fc.string(), { nil: undefined }), (data, headers, event) => {
        sound(Classification.ofStreamError({ data, headers, now, ...defined({ event }) }))
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule C1, C5: any thrown value has a failure, even one whose fields throw", () => {
    const hostile = fc.constantFrom<() => unknown>(
      () =>
        new Proxy(
          {},
          {
            get: () => {
              throw new Error("no")
            },
            getPrototypeOf: () => {
              throw new Error("no")
            }
          }
        ),
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
      () => Object.create(null),
      () => Symbol("s"),
      () => () => undefined,
      () => ({ cause: { cause: null }, status: NaN, headers: 5, message: 7 })
    )
    const value = fc.oneof(
      fc.anything({ withBigInt: true, withDate: true, withMap: true }).map((value) => () => value),
      hostile
    )
    fc.assert(
      fc.property(value, value, (one, other) => {
        sound(Classification.ofThrown(one(), now))
        sound(Classification.ofThrown(new Error("outer", { cause: other() }), now))
        sound(
          Classification.ofThrown(Object.assign(new Error("e"), { error: one(), headers: other(), status: 500 }), now)
        )
      }),
      { numRuns: 2_000 }
    )
  })

  it("rule C1: the same input has the same failure", () => {
    fc.assert(
      fc.property(headers, body, (headers, body) => {
        const classify = () => Classification.ofResponse({ status: 429, headers, body, now })
        expect(classify()).toEqual(classify())
      })
    )
  })
})

const evidenceOf = (headers: Readonly<Record<string, string>>) =>
  Classification.ofResponse({ status: 429, headers, body: "", now }).evidence

describe("evidence of a failure", () => {
  it("rule X9: has the header of the hint, and the request's id", () => {
    const headers = { "retry-after": "30", "x-ratelimit-reset-tokens": "6m0s", "request-id": "req_1" }
    expect(evidenceOf(headers)).toEqual({ "retry-after": "30", "request-id": "req_1" })
  })

  it("rule C2: has the header that overrides the status", () => {
    expect(evidenceOf({ "x-should-retry": "false" })).toEqual({ "x-should-retry": "false" })
  })

  it("has nothing else: no cookie, no account, no address", () => {
    expect(
      evidenceOf({
        "set-cookie": "session=1",
        "openai-organization": "org-1",
        "anthropic-organization-id": "o",
        "x-forwarded-for": "10.0.0.1",
        server: "nginx"
      })
    ).toBeUndefined()
  })

  it("has no header for a hint that was read from the body", () => {
    const body = JSON.stringify({ error: { message: "Please try again in 20s." } })
    const failure = Classification.ofResponse({ status: 429, headers: { body: "planted" }, body, now })
    expect(failure.hint?.source).toBe("body")
    expect(failure.evidence).toBeUndefined()
  })

  it("has short values only, and never a part of a value", () => {
    expect(evidenceOf({ "request-id": "r".repeat(128) })?.["request-id"]).toHaveLength(128)
    expect(evidenceOf({ "request-id": "r".repeat(129) })).toBeUndefined()
  })
})
