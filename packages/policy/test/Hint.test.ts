import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Hint } from "../src/index.ts"

/** Sun, 01 Mar 2026 12:00:00 GMT */
const now = Date.UTC(2026, 2, 1, 12)
const epoch = now / 1000

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const ofHeaders = (headers: Readonly<Record<string, string>>) => Hint.find({ headers, body: "", now })
const ofBody = (body: unknown) =>
  Hint.find({ headers: {}, body: typeof body === "string" ? body : JSON.stringify(body), now })
const ofMessage = (message: string) => ofBody({ error: { message, type: "rate_limit_error" } })

describe("of several resets", () => {
  it("rule P5: the first of two equally long ones is named", () => {
    const headers = { "x-ratelimit-reset-requests": "30s", "x-ratelimit-reset-tokens": "30s" }
    expect(ofHeaders(headers)).toEqual({ retryAfterMs: 30_000, source: "x-ratelimit-reset-requests" })
  })

  it("rule P5: a limit counts if its window is used up, to the last or beyond", () => {
    const reset = { "anthropic-ratelimit-unified-5h-reset": String(epoch + 60) }
    const used = (utilization: string) =>
      ofHeaders({ ...reset, "anthropic-ratelimit-unified-5h-utilization": utilization })
    expect(used("1")?.retryAfterMs).toBe(60_000)
    expect(used("1.2")?.retryAfterMs).toBe(60_000)
    expect(used("0.99")).toBeUndefined()
    expect(ofHeaders({ ...reset, "anthropic-ratelimit-unified-5h-remaining": "0" })?.retryAfterMs).toBe(60_000)
    expect(ofHeaders({ ...reset, "anthropic-ratelimit-unified-5h-remaining": "1" })).toBeUndefined()
  })
})

describe("fields of an error", () => {
  it.each(["retry_after_seconds", "retry_after", "resets_in_seconds", "resets_at", "reset_at"])(
    "rule P5: %s is read as a number and as text, and nothing else is",
    (field) => {
      const hint = { retryAfterMs: 30_000, source: "body" }
      expect(ofBody({ error: { message: "no", [field]: 30 } })).toEqual(hint)
      expect(ofBody({ error: { message: "no", [field]: "30" } })).toEqual(hint)
      expect(ofBody({ error: { message: "no", [field]: String(epoch + 30) } })).toEqual(hint)
      for (const value of [true, null, { 30: 30 }, [30]]) {
        expect(ofBody({ error: { message: "no", [field]: value } })).toBeUndefined()
      }
    }
  )

  it("rule P5: retry_after_ms is read as a number and as text, and nothing else is", () => {
    const hint = { retryAfterMs: 700, source: "body" }
    expect(ofBody({ error: { message: "no", retry_after_ms: 700 } })).toEqual(hint)
    expect(ofBody({ error: { message: "no", retry_after_ms: "700" } })).toEqual(hint)
    for (const value of [true, null, { 30: 30 }, [700]]) {
      expect(ofBody({ error: { message: "no", retry_after_ms: value } })).toBeUndefined()
    }
  })
})

describe("Google's RetryInfo", () => {
  const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" }
  const ofDetails = (...details: ReadonlyArray<object>) => ofBody({ error: { message: "no", details } })?.retryAfterMs

  it("rule P5: is known by its type, and has a delay", () => {
    expect(ofDetails({ "@type": "type.googleapis.com/google.rpc.Help" }, info)).toBe(34_000)
    expect(ofDetails({ ...info, "@type": "type.googleapis.com/google.rpc.Other" })).toBeUndefined()
    expect(ofDetails({ retryDelay: "34s" })).toBeUndefined()
    expect(ofDetails({ "@type": info["@type"] })).toBeUndefined()
    expect(ofDetails({ "@type": info["@type"] }, info)).toBe(34_000)
  })

  it("is searched among the first 50 details", () => {
    const others = (n: number) => Array.from({ length: n }, () => ({ "@type": "type.googleapis.com/google.rpc.Help" }))
    expect(ofDetails(...others(49), info)).toBe(34_000)
    expect(ofDetails(...others(50), info)).toBeUndefined()
  })
})

describe("headers inside an error", () => {
  const inside = (headers: unknown) => ofBody({ error: { message: "no", metadata: { headers } } })

  it("rule P5: are read as text and as numbers, by any case of their names", () => {
    const hint = { retryAfterMs: 30_000, source: "body" }
    expect(inside({ "Retry-After": "30" })).toEqual(hint)
    expect(inside({ "retry-after": 30 })).toEqual(hint)
  })

  it("rule C5: of any other shape are ignored", () => {
    for (const headers of ["retry-after: 30", ["retry-after", "30"], 30, null, { "retry-after": true }]) {
      expect(inside(headers)).toBeUndefined()
    }
  })

  it("rule P5: the outer ones decide if there are several", () => {
    const body = {
      error: { message: "no", headers: { "retry-after": "5" }, error: { headers: { "retry-after": "30" } } }
    }
    expect(ofBody(body)?.retryAfterMs).toBe(5_000)
  })
})

describe("words of an error", () => {
  it.each([
    ["Usage limit reached, resets in 00:04:10", 250_000],
    ["5-hour limit reached, resets 6:20pm (Europe/Berlin)", 5 * hour + 20 * minute],
    ["Your limit will reset at 18:20 (Europe/Berlin).", 5 * hour + 20 * minute],
    ["You've hit your limit · resets Mar 3, 7:05pm (UTC)", 2 * day + 7 * hour + 5 * minute],
    ["Try again at Mar 3rd, 2026 7:05 PM UTC", 2 * day + 7 * hour + 5 * minute],
    [`Claude AI usage limit reached|${epoch + 3600}`, hour],
    [`Claude AI usage limit reached|${now + hour}`, hour],
    ["Rate limited. Retry after Sun, 01 Mar 2026 12:05:00 GMT", 5 * minute],
    ["Retry after Sunday, 01-Mar-26 12:05:00 GMT", 5 * minute],
    ["You can continue in 5 hours and 10 minutes", 5 * hour + 10 * minute],
    ["Limit resets at: 2026-03-01 15:00:00 UTC", 3 * hour]
  ])("rule P5: %j", (message, retryAfterMs) => {
    expect(ofMessage(message)).toEqual({ retryAfterMs, source: "body" })
  })

  it.each([
    "resets in 00:99:10",
    "resets 3pm",
    "resets 6 (Anthropic)",
    "resets 13pm (UTC)",
    "resets 6:20pm (Nowhere/City)",
    "resets 11:30am (UTC)",
    "resets Feb 28, 7pm (UTC)",
    "resets Feb 31, 7pm (UTC)",
    `limit reached|${epoch - 60}`,
    "model|9999999999999",
    "Retry after Sun, 01 Mar 2026 11:55:00 GMT",
    "50 requests in 60 seconds and then none"
  ])("rule P5: %j has no delay", (message) => {
    expect(ofMessage(message)).toBeUndefined()
  })

  it("are searched from the first character, up to about 2,000", () => {
    expect(ofMessage("Retry after 5s")?.retryAfterMs).toBe(5_000)
    expect(ofMessage(`${". ".repeat(900)}Retry after 5s`)?.retryAfterMs).toBe(5_000)
    expect(ofMessage(`${". ".repeat(1_500)}Retry after 5s`)).toBeUndefined()
  })
})

describe("x-ratelimit-reset-ms", () => {
  it("rule P5: is milliseconds from now, or a moment", () => {
    for (const value of [30_000, now + 30_000]) {
      expect(ofHeaders({ "x-ratelimit-reset-ms": String(value) })?.retryAfterMs).toBe(30_000)
    }
  })
})

describe("headers that answer this request", () => {
  it.each([
    ["retry-after-ms", "1500", 1_500],
    ["retry-after-ms", "0.4", 1],
    ["x-ms-retry-after-ms", "250", 250],
    ["retry-after", "20", 20_000],
    ["retry-after", " 20 ", 20_000],
    ["retry-after", "1.5", 1_500],
    ["retry-after", "59.99999713897705", 60_000],
    ["retry-after", "403973", 403_973_000],
    ["retry-after", "20s", 20_000],
    // RFC 9110, 5.6.7: the present form, and the two obsolete ones
    ["retry-after", "Sun, 01 Mar 2026 12:05:00 GMT", 5 * minute],
    ["retry-after", "Sunday, 01-Mar-26 12:05:00 GMT", 5 * minute],
    ["retry-after", "Sun Mar  1 12:05:00 2026", 5 * minute]
  ])("rule P5: %s: %s", (name, value, retryAfterMs) => {
    expect(ofHeaders({ [name]: value })).toEqual({ retryAfterMs, source: name })
  })

  it("rule P5: an HTTP date is compared with the response's own date, not with a wrong local clock", () => {
    const headers = { date: "Sun, 01 Mar 2026 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" }
    for (const now of [Date.UTC(2026, 2, 1, 12, 10), Date.UTC(2026, 2, 1, 11, 50), 0]) {
      expect(Hint.find({ headers, body: "", now })).toEqual({ retryAfterMs: 30_000, source: "retry-after" })
    }
  })

  it("rule P5: with an unreadable date header the local clock is used", () => {
    expect(ofHeaders({ date: "today", "retry-after": "Sun, 01 Mar 2026 12:00:30 GMT" })?.retryAfterMs).toBe(30_000)
  })

  it.each([
    "0",
    "-5",
    "NaN",
    "Infinity",
    "",
    " ",
    "1e3",
    "0x10",
    "soon",
    "5, 10",
    "999999999999999",
    "2678401", // 31 days and a second
    "1777936568", // an epoch where seconds belong
    "Sun, 01 Mar 2026 11:59:59 GMT",
    "Sun, 01 Mar 2026 12:00:00 GMT",
    "Sun, 31 Feb 2026 12:00:00 GMT",
    "Sun, 01 Mar 2026 25:00:00 GMT",
    "Tue, 01 Mar 2039 12:00:00 GMT"
  ])("rule P5: retry-after: %j is past, negative, no number or absurd, and ignored", (value) => {
    expect(ofHeaders({ "retry-after": value })).toBeUndefined()
  })
})

describe("headers of limits", () => {
  it.each([
    ["x-ratelimit-reset-ms", "1500", 1_500],
    ["x-ratelimit-reset-ms", String(now + 1_500), 1_500],
    ["x-ratelimit-reset", "30", 30_000],
    ["x-ratelimit-reset", String(epoch + 90), 90_000],
    ["x-ratelimit-reset", String(now + 90_000), 90_000], // OpenRouter
    ["x-ratelimit-reset", "2026-03-01T12:02:00Z", 2 * minute],
    ["x-ratelimit-reset-requests", "1s", 1_000], // OpenAI
    ["x-ratelimit-reset-requests", "2m59.56s", 179_560], // Groq
    ["x-ratelimit-reset-requests", "12ms", 12],
    ["x-ratelimit-reset-tokens", "6m0s", 6 * minute],
    ["x-ratelimit-reset-tokens", "1h2m3.5s", 3_723_500],
    ["x-ratelimit-reset-tokens", "45", 45_000],
    ["x-ratelimit-reset-requests-day", "7000", 7_000_000], // Cerebras
    ["anthropic-ratelimit-requests-reset", "2026-03-01T12:00:07Z", 7_000],
    ["anthropic-ratelimit-tokens-reset", "2026-03-01T12:00:07.250Z", 7_250],
    ["anthropic-ratelimit-input-tokens-reset", "2026-03-01T14:00:00+02:00", undefined],
    ["anthropic-ratelimit-input-tokens-reset", "2026-03-01T14:00:07+02:00", 7_000],
    ["anthropic-ratelimit-output-tokens-reset", "2026-03-01T12:01:00Z", minute],
    ["anthropic-ratelimit-unified-reset", String(epoch + 18_000), 5 * hour],
    ["anthropic-ratelimit-unified-7d-reset", String(epoch + 602_705), 602_705_000]
  ])("rule P5: %s: %s", (name, value, retryAfterMs) => {
    expect(ofHeaders({ [name]: value })).toEqual(
      retryAfterMs === undefined ? undefined : { retryAfterMs, source: name }
    )
  })

  it("rule P5: a limit that has room does not count, however far away its reset is", () => {
    expect(
      ofHeaders({
        "x-ratelimit-remaining-requests": "14370",
        "x-ratelimit-reset-requests": "2m59.56s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "7.66s"
      })
    ).toEqual({ retryAfterMs: 7_660, source: "x-ratelimit-reset-tokens" })
    expect(ofHeaders({ "x-ratelimit-remaining": "1", "x-ratelimit-reset": "30" })).toBeUndefined()
    expect(ofHeaders({ "x-ratelimit-remaining": "1", "x-ratelimit-reset-ms": "30" })).toBeUndefined()
    expect(
      ofHeaders({
        "anthropic-ratelimit-tokens-remaining": "29873",
        "anthropic-ratelimit-tokens-reset": "2026-03-01T12:01:00Z"
      })
    ).toBeUndefined()
  })

  it("rule P5: only those of Anthropic's unified windows count that were rejected or are used up", () => {
    const windows = {
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-reset": String(epoch + 3_600),
      "anthropic-ratelimit-unified-5h-status": "rejected",
      "anthropic-ratelimit-unified-5h-reset": String(epoch + 3_600),
      "anthropic-ratelimit-unified-7d-status": "allowed",
      "anthropic-ratelimit-unified-7d-reset": String(epoch + 400_000)
    }
    expect(ofHeaders(windows)?.retryAfterMs).toBe(hour)
    expect(
      ofHeaders({
        "anthropic-ratelimit-unified-5h-utilization": "0.42",
        "anthropic-ratelimit-unified-5h-reset": String(epoch + 3_600)
      })
    ).toBeUndefined()
    expect(
      ofHeaders({
        "anthropic-ratelimit-unified-status": "allowed_warning",
        "anthropic-ratelimit-unified-reset": String(epoch + 3_600)
      })
    ).toBeUndefined()
  })

  it("rule P5: the last reset of several used-up limits decides", () => {
    expect(
      ofHeaders({ "x-ratelimit-reset-requests": "10s", "x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-reset": "0" })
    ).toEqual({ retryAfterMs: 6 * minute, source: "x-ratelimit-reset-tokens" })
  })

  it("rule P5: an absurd reset does not hide a sound one", () => {
    expect(ofHeaders({ "x-ratelimit-reset-requests": "400d", "x-ratelimit-reset-tokens": "9s" })?.retryAfterMs).toBe(
      9_000
    )
  })

  it("rule P5: epochs and timestamps too are compared with the response's own date", () => {
    const headers = {
      date: "Sun, 01 Mar 2026 11:00:00 GMT",
      "anthropic-ratelimit-tokens-reset": "2026-03-01T11:00:20Z"
    }
    expect(ofHeaders(headers)?.retryAfterMs).toBe(20_000)
  })
})

describe("fields of the error", () => {
  const retryInfo = (retryDelay: unknown) => ({
    error: {
      code: 429,
      message: "You exceeded your current quota.",
      status: "RESOURCE_EXHAUSTED",
      details: [
        { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }
      ]
    }
  })

  it.each([
    ["34.07s", 34_070],
    ["38s", 38_000],
    ["45.837906927s", 45_838]
  ])("rule P5: Google's RetryInfo of %s", (delay, retryAfterMs) => {
    expect(ofBody(retryInfo(delay))).toEqual({ retryAfterMs, source: "body" })
    expect(ofBody([retryInfo(delay)])).toEqual({ retryAfterMs, source: "body" })
  })

  it.each(["0s", "-1s", "s", "NaNs", 34, null, { seconds: 3 }])("rule P5: a RetryInfo of %j is ignored", (delay) => {
    expect(ofBody(retryInfo(delay))).toBeUndefined()
  })

  it("rule P5: Google's error inside the message of a proxy's error", () => {
    expect(ofBody({ error: { code: 429, message: JSON.stringify(retryInfo("38s")) } })?.retryAfterMs).toBe(38_000)
  })

  it("rule P5: OpenAI's usage_limit_reached, by seconds and by epoch", () => {
    const usageLimit = { type: "usage_limit_reached", message: "The usage limit has been reached", plan_type: "plus" }
    expect(ofBody({ error: { ...usageLimit, resets_at: 1, resets_in_seconds: 602_705 } })?.retryAfterMs).toBe(
      602_705_000
    )
    expect(ofBody({ error: { ...usageLimit, resets_at: epoch + 600 } })?.retryAfterMs).toBe(600_000)
    expect(ofBody({ type: "error", error: { ...usageLimit, resets_in_seconds: 9_568 } })?.retryAfterMs).toBe(9_568_000)
  })

  it("rule P5: OpenRouter's headers inside the error's metadata", () => {
    const limited = (remaining: string) => ({
      error: {
        message: "Rate limit exceeded: free-models-per-day",
        code: 429,
        metadata: {
          headers: {
            "X-RateLimit-Limit": "50",
            "X-RateLimit-Remaining": remaining,
            "X-RateLimit-Reset": String(now + 90_000)
          }
        }
      }
    })
    expect(ofBody(limited("0"))).toEqual({ retryAfterMs: 90_000, source: "body" })
    expect(ofBody(limited("3"))).toBeUndefined()
  })

  it("rule P5: a field in JSON without an error, alone or after a prefix", () => {
    expect(ofBody({ retry_after_ms: 700 })?.retryAfterMs).toBe(700)
    expect(ofBody('429 {"retry_after_ms":700}')?.retryAfterMs).toBe(700)
    expect(ofBody({ message: "Slow down", errors: [{ retry_after: 5 }] })?.retryAfterMs).toBe(5_000)
  })

  it("rule P5: an error after the prefix of a client or a proxy", () => {
    const error = JSON.stringify({ error: { message: "try again in 3s", failed_generation: "wait for 9h" } })
    for (const prefix of ["429 ", "Error: ", "litellm.RateLimitError: "]) {
      expect(ofBody(prefix + error)?.retryAfterMs).toBe(3_000)
    }
  })

  it("rule P5: text before brackets", () => {
    expect(ofBody("Please retry in 5s [1]")?.retryAfterMs).toBe(5_000)
    expect(ofBody("Please retry in 5s {see below")?.retryAfterMs).toBe(5_000)
  })

  it("rule P5: an error frame of a stream, with and without its SSE lines", () => {
    const frame = JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "retry after 20s" } })
    expect(ofBody(frame)?.retryAfterMs).toBe(20_000)
    expect(ofBody(`event: error\ndata: ${frame}\n\n`)?.retryAfterMs).toBe(20_000)
    expect(ofBody({ type: "response.failed", response: { error: { message: "try again in 3s" } } })?.retryAfterMs).toBe(
      3_000
    )
  })
})

describe("words of the error", () => {
  it.each([
    ["Please try again in 20s", 20_000],
    [
      "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s. Visit https://platform.openai.com",
      18_642
    ],
    ["Please try again in 644ms.", 644],
    ["Limit: 10000 / min. Please try again in 6m0s. Contact us", 6 * minute],
    ["Please try again in 9m38.016s. Need more tokens?", 578_016],
    ["Please try again in 50.597142857s.", 50_598],
    ["retry after 6m0s", 6 * minute],
    [
      "exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400 seconds. Please go here",
      day
    ],
    ["Rate limit is exceeded. Try again in 50 seconds.", 50_000],
    ["* Quota exceeded for metric\nPlease retry in 34.07s.", 34_070],
    ["Your limit resets in 1.5 seconds", 1_500],
    ["Too many requests, wait for 30 secs before trying again", 30_000],
    ["Retry your request after 2 minutes", 2 * minute],
    ["retry delay: 5s", 5_000],
    ["Try again in 5 days, 3 hours and 20 minutes.", 5 * day + 3 * hour + 20 * minute],
    // Z.ai's times are in China Standard Time, unless they have a zone.
    ["Usage limit reached for 5 hour. Your limit will reset at 2026-03-01 23:00:00", 3 * hour],
    ["Your limit will reset at 2026-03-01 23:00:00 UTC", 11 * hour],
    ["已达到 5 小时的使用上限。您的限额将在 2026-03-01 23:00:00 重置。", 3 * hour],
    [
      "You have reached your specified API usage limits. You will regain access on 2026-03-15 at 00:00 UTC.",
      13.5 * day
    ],
    ["Quota used up, resets at 2026-03-01T13:00:00Z", hour]
  ])("rule P5: %s", (message, retryAfterMs) => {
    expect(ofMessage(message)).toEqual({ retryAfterMs, source: "body" })
  })

  it.each([
    "Request timed out after 60 seconds",
    "Limit of 50 requests per 1 minute exceeded",
    "The server had an error while processing your request in 30 seconds",
    "Please try again later",
    "try again in a few minutes",
    "Please try again in 5 parsecs",
    "Please try again in -20s",
    "try again at 7:58 PM",
    "Please try again in 90 days",
    "try again in 1e9 seconds",
    "resets at 2026-02-01T13:00:00Z"
  ])("rule P5: %s names no delay", (message) => {
    expect(ofMessage(message)).toBeUndefined()
  })

  it("rule P5: plain text, other envelopes and an error that is a string", () => {
    expect(ofBody("Too many requests. Retry after 7 seconds.")?.retryAfterMs).toBe(7_000)
    expect(ofBody({ object: "error", message: "Requests rate limit exceeded, try again in 8s" })?.retryAfterMs).toBe(
      8_000
    )
    expect(ofBody({ detail: "try again in 9s" })?.retryAfterMs).toBe(9_000)
    expect(ofBody({ error: "try again in 10s" })?.retryAfterMs).toBe(10_000)
  })

  it("rule C4: text of a user or a model names no delay", () => {
    expect(ofBody({ choices: [{ delta: { content: "try again in 20s" } }] })).toBeUndefined()
    expect(ofBody({ type: "content_block_delta", delta: { text: "try again in 20s" } })).toBeUndefined()
    expect(
      ofBody({ error: { message: "Bad request", input: "retry after 9s" }, prompt: "retry after 9s" })
    ).toBeUndefined()
    expect(ofBody({ type: "message_start", message: { content: "retry after 9s" } })).toBeUndefined()
  })

  it("rule C4: only the head of a page is searched", () => {
    expect(ofBody(`<html>retry in 5s</html>${"x".repeat(3_000)}`)?.retryAfterMs).toBe(5_000)
    expect(ofBody(`<html>${"x".repeat(3_000)}retry in 5s</html>`)).toBeUndefined()
  })
})

describe("precedence", () => {
  const body = JSON.stringify({
    error: {
      message: "Please try again in 4s",
      details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3s" }]
    }
  })
  const words = JSON.stringify({ error: { message: "Please try again in 4s" } })
  const all = {
    "retry-after-ms": "1000",
    "x-ms-retry-after-ms": "1500",
    "retry-after": "2",
    "x-ratelimit-reset": "5"
  }
  const { "retry-after-ms": _ms, ...withoutMs } = all
  const { "x-ms-retry-after-ms": _xMs, ...withoutXMs } = withoutMs
  const { "retry-after": _seconds, ...limits } = withoutXMs

  it.each([
    [all, body, 1_000],
    [withoutMs, body, 1_500],
    [withoutXMs, body, 2_000],
    [limits, body, 3_000],
    [limits, words, 4_000],
    [limits, "", 5_000],
    [{}, "", undefined]
  ])("rule P5: the first usable source wins (%#)", (headers, body, retryAfterMs) => {
    expect(Hint.find({ headers, body, now })?.retryAfterMs).toBe(retryAfterMs)
  })

  it("rule P5: after an unusable source the next one is used", () => {
    expect(Hint.find({ headers: { ...all, "retry-after-ms": "NaN", "x-ms-retry-after-ms": "-1" }, body, now })).toEqual(
      {
        retryAfterMs: 2_000,
        source: "retry-after"
      }
    )
  })
})

// --- laws

const HEADERS = [
  "retry-after-ms",
  "x-ms-retry-after-ms",
  "retry-after",
  "x-ratelimit-reset-ms",
  "x-ratelimit-reset",
  "x-ratelimit-reset-tokens",
  "anthropic-ratelimit-requests-reset",
  "anthropic-ratelimit-unified-reset",
  "date"
]

const FRAGMENTS = [
  [...'0123456789.-+:, TZ{}[]"\\\n'],
  ["00", "999999999", "1e9", "NaN", "Infinity", "ms", "s", "m", "h", "d", "w", "seconds", "minutes", "and"],
  ["retry", "try again", "resets", "in", "after", "at", "on", "wait", "retry-after", "GMT", "UTC", "Sun, "],
  ["06 Nov 1994 08:49:37 GMT", "2026-03-01T12:00:00Z", "2026-13-41", String(now), String(epoch), "\u0660", "🕛"],
  ['{"error":', '"message":"', '"retryDelay":', '"details":[', '"resets_at":', "data: ", "event: error\n"]
].flat()

/** Texts of the parser's own tokens, in any order. A seed per text is cheaper than an arbitrary per letter. */
const textsOf = (seed: number, count: number): ReadonlyArray<string> => {
  let state = seed | 1
  const draw = (below: number): number => {
    // xorshift32
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
  return Array.from({ length: count }, () =>
    Array.from({ length: draw(9) }, () => FRAGMENTS[draw(FRAGMENTS.length)] ?? "").join("")
  )
}

/** Whether there is a hint; a hint outside its range fails the test. */
const check = (hint: ReturnType<typeof Hint.find>): boolean => {
  if (hint === undefined) return false
  const { retryAfterMs } = hint
  // Plain comparisons: tens of thousands of calls of expect would take longer than the tested code.
  if (!(Number.isInteger(retryAfterMs) && retryAfterMs > 0 && retryAfterMs <= Hint.LONGEST_MS)) {
    expect.fail(`${retryAfterMs} is no hint`)
  }
  return true
}

describe("laws", () => {
  it("rule P5: over 20,000 generated strings a hint is never negative, never NaN and never beyond the cap", () => {
    let found = 0
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        for (const text of textsOf(seed, 200)) {
          const header = HEADERS[text.length % HEADERS.length] ?? "retry-after"
          const named = JSON.stringify({ error: { message: `try again in ${text}` } })
          if (check(Hint.find({ headers: { [header]: text }, body: text, now }))) found++
          if (check(Hint.find({ headers: {}, body: named, now }))) found++
        }
      }),
      { numRuns: 100 }
    )
    // Texts without a hint prove little: enough of them must have one.
    expect(found).toBeGreaterThan(400)
  })

  it("rule P5: nor over strings of any characters, and nothing throws", () => {
    fc.assert(
      fc.property(fc.constantFrom(...HEADERS), fc.string({ unit: "binary" }), fc.json(), (header, text, json) => {
        check(Hint.find({ headers: { [header]: text, date: text }, body: json, now }))
        check(Hint.find({ headers: {}, body: text, now }))
      }),
      { numRuns: 3_000 }
    )
  })

  it("rule P5: a later clock gives a shorter wait until the same moment", () => {
    const forms: ReadonlyArray<(at: number) => Readonly<Record<string, string>>> = [
      (at) => ({ "retry-after": new Date(at).toUTCString() }),
      (at) => ({ "x-ratelimit-reset": String(at / 1000) }),
      (at) => ({ "x-ratelimit-reset-ms": String(at) }),
      (at) => ({ "anthropic-ratelimit-tokens-reset": new Date(at).toISOString() })
    ]
    fc.assert(
      fc.property(fc.constantFrom(...forms), fc.nat(31 * 86_400), fc.nat(day), (form, inSeconds, later) => {
        const headers = form(now + inSeconds * 1000)
        const wait = (now: number): number => Hint.find({ headers, body: "", now })?.retryAfterMs ?? 0
        expect(wait(now)).toBe(inSeconds * 1000)
        expect(wait(now + later)).toBe(Math.max(0, inSeconds * 1000 - later))
      }),
      { numRuns: 1_000 }
    )
  })

  it("a text that is made to slow the expressions down is read in time", () => {
    const slow = [
      "retry ".repeat(400),
      "wait" + " ".repeat(2_000),
      "wait " + "1 s ".repeat(500),
      "[".repeat(60_000),
      "9".repeat(60_000)
    ]
    for (const text of slow) check(Hint.find({ headers: { "retry-after": text }, body: text, now }))
  })
})
