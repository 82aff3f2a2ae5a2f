/** Which texts of a body are the provider's, and which one decides (C4). */
import { describe, expect, it } from "@effect/vitest"
import { Classification } from "../../src/index.ts"

const now = Date.UTC(2026, 2, 1, 12)

const respond = (status: number, body: unknown) =>
  Classification.ofResponse({ status, headers: {}, body: typeof body === "string" ? body : JSON.stringify(body), now })

const quota = (quotaId: string) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: [{ quotaId }]
})

describe("an error in a body", () => {
  it("rule C1: with a code in `error` and the sentence beside it has both", () => {
    const body = { error: "slow_down", error_description: "The server is too busy." }
    expect(respond(400, body)).toMatchObject({ message: "The server is too busy.", code: "slow_down" })
  })

  it("rule C1: with a sentence in `error` is that sentence, whatever is beside it", () => {
    const body = { error: "Not now, please.", message: "Bad Request" }
    expect(respond(400, body).message).toBe("Not now, please.")
  })

  it("rule C1: has the code of the error inside it, if that is an object", () => {
    const error = { message: "No.", innererror: { code: "context_length_exceeded" } }
    expect(respond(400, { error }).reason).toBe("context-overflow")
    expect(respond(400, { error: { message: "No.", innererror: "context_length_exceeded" } }).reason).toBe(
      "bad-request"
    )
  })

  it("rule C1: of OpenRouter's upstream has the upstream's sentence if its own is a placeholder, and its own otherwise", () => {
    const metadata = { raw: JSON.stringify({ error: { message: "Upstream is down." } }) }
    const messageOf = (message: string) => respond(502, { error: { message, metadata } }).message
    expect(messageOf("Provider returned error")).toBe("Upstream is down.")
    expect(messageOf("It failed.")).toBe("It failed.")
    expect(respond(502, { error: { metadata } }).message).toBe("Upstream is down.")
    expect(respond(502, { error: { message: "Provider returned error" } }).message).toBe("Provider returned error")
  })

  it("rule C1: with a word in `error` and nothing beside it is that word", () => {
    expect(respond(400, { error: "oops" }).message).toBe("oops")
  })

  it.each([
    ["day", "quota-exhausted"],
    ["month", "quota-exhausted"],
    ["minute", "rate-limited"],
    ["hour", "rate-limited"]
  ])("rule C2: keeps the reason in its details when it is wrapped: a quota per %s", (span, reason) => {
    const details = [quota(`GenerateRequestsPer_${span}`)]
    const inner = { code: 429, status: "RESOURCE_EXHAUSTED", message: "You exceeded your current quota.", details }
    expect(respond(429, { error: inner }).reason).toBe(reason)
    expect(respond(429, { status: 429, code: "upstream", error: inner }).reason).toBe(reason)
    expect(respond(429, { status: 429, message: "failed", details, error: { message: "no" } }).reason).toBe(reason)
  })

  it("rule C1: written as JSON into a message gives its code, with and without a sentence of its own", () => {
    const coded = JSON.stringify({ type: "error", code: "insufficient_quota" })
    expect(respond(400, { error: { message: coded } })).toMatchObject({
      reason: "quota-exhausted",
      code: "insufficient_quota"
    })
    const worded = JSON.stringify({ error: { code: "insufficient_quota", message: "You have run out." } })
    expect(respond(400, { error: { message: `429 ${worded}` } })).toMatchObject({
      reason: "quota-exhausted",
      message: "You have run out."
    })
  })

  it("rule C1: JSON without an error in a message is the message itself", () => {
    for (const silent of ['{"error":{}}', '{"type":"error","status":503}']) {
      expect(respond(400, { error: { message: silent } })).toMatchObject({ message: silent, reason: "bad-request" })
    }
  })
})

describe("lists in a body", () => {
  const coded = { error: { message: "Out of credit.", code: "insufficient_quota" } }

  it("the first three elements of a body that is a list are read", () => {
    expect(respond(400, [{}, {}, coded])).toMatchObject({ reason: "quota-exhausted", message: "Out of credit." })
    expect(respond(400, [{}, {}, {}, coded]).reason).toBe("bad-request")
  })

  it("the first ten details are read, and the first ten entries of a detail", () => {
    const info = { reason: "insufficient_quota" }
    const reasonOf = (details: ReadonlyArray<object>) => respond(400, { error: { message: "no", details } }).reason
    const others = (n: number) => Array.from({ length: n }, () => ({}))
    expect([reasonOf([...others(9), info]), reasonOf([...others(10), info])]).toEqual([
      "quota-exhausted",
      "bad-request"
    ])
    const violations = (n: number) => [{ violations: [...others(n), { quotaId: "RequestsPerDay" }] }]
    expect([reasonOf(violations(9)), reasonOf(violations(10))]).toEqual(["quota-exhausted", "bad-request"])
  })

  it("rule C1: details that are one object have codes, too", () => {
    const ofDetails = (details: unknown) => respond(400, { error: { message: "no", details } }).reason
    expect(ofDetails({ error_code: "insufficient_quota" })).toBe("quota-exhausted")
    for (const details of [[{ error_code: "insufficient_quota" }], "insufficient_quota", null, 7]) {
      expect(ofDetails(details)).toBe("bad-request")
    }
  })
})

describe("a moderation", () => {
  it("rule C1: is a refusal if it names a reason and the flagged input, and not with only one of them", () => {
    const ofMetadata = (metadata: object) => respond(400, { error: { message: "no", metadata } }).reason
    expect(ofMetadata({ reasons: ["violence"], flagged_input: "…" })).toBe("refused")
    expect(ofMetadata({ reasons: [], flagged_input: "…" })).toBe("bad-request")
    expect(ofMetadata({ reasons: ["violence"] })).toBe("bad-request")
    expect(ofMetadata({ flagged_input: "…" })).toBe("bad-request")
  })
})

describe("an envelope behind a prefix", () => {
  it("rule C1: is read to its last bracket, whatever follows it", () => {
    const json = JSON.stringify({ error: { message: "Out of credit.", code: "insufficient_quota" } })
    for (const text of [`429 ${json}`, `429 ${json} (request 7)`, `Error: [${json}]`, `Error: [${json}] and no more`]) {
      expect(respond(400, text)).toMatchObject({ reason: "quota-exhausted", message: "Out of credit." })
    }
  })
})

describe("of several words", () => {
  it("rule C2: 413 is a context that is too long, with any code", () => {
    for (const code of ["authentication_error", "rate_limit_exceeded", "insufficient_quota"]) {
      expect(respond(413, { error: { code, message: "No." } }).reason).toBe("context-overflow")
    }
  })

  it("rule C2: a code for an overflow decides, for any status and sentence", () => {
    expect(respond(400, { error: { code: "context_length_exceeded", message: "No." } }).reason).toBe("context-overflow")
    expect(respond(500, { error: { code: "context_length_exceeded", message: "No." } }).reason).toBe("context-overflow")
  })

  it("rule P2: if sentences differ, the one about the context decides, in any order", () => {
    const long = "This model's maximum context length is 4096 tokens."
    const quotaSentence = "You exceeded your current quota, please check your plan and billing details."
    for (const [outer, inner] of [
      [long, quotaSentence],
      [quotaSentence, long]
    ]) {
      expect(respond(400, { message: outer, error: { message: inner } }).reason).toBe("context-overflow")
    }
    expect(respond(400, { message: "no", error: { message: quotaSentence } }).reason).toBe("quota-exhausted")
  })
})

describe("the status", () => {
  const quotaSentence = "You exceeded your current quota, please check your plan and billing details."
  const reasonOf = (status: number) => respond(status, { error: { message: quotaSentence } }).reason

  it.each([200, 299, 400, 403, 404, 410, 422, 429])(
    "rule C2: %i is used for many errors: the sentence decides",
    (status) => {
      expect(reasonOf(status)).toBe("quota-exhausted")
    }
  )

  it.each([
    [401, "auth"],
    [405, "bad-request"],
    [408, "timeout"],
    [411, "bad-request"],
    [423, "bad-request"],
    [500, "server-error"],
    [503, "overloaded"]
  ])("rule C2: %i decides by itself: %s", (status, reason) => {
    expect(reasonOf(status)).toBe(reason)
  })
})

describe("errors that wrap errors", () => {
  const nested = (levels: number): unknown =>
    levels === 0 ? { message: "deep", type: "error", code: "insufficient_quota" } : { error: nested(levels - 1) }

  it("are read six levels deep, and no deeper", () => {
    for (let levels = 0; levels <= 6; levels++) expect(respond(400, nested(levels)).message).toBe("deep")
    expect(respond(400, nested(7)).message).not.toBe("deep")
  })
})

describe("a page", () => {
  it("rule C3: is represented by its title, if that is within its first 20,000 characters", () => {
    const page = (before: number) => `<html>${" ".repeat(before)}<title>Gone fishing</title>`
    expect(respond(502, page(10_000)).message).toContain("Gone fishing")
    expect(respond(502, page(25_000)).message).not.toContain("Gone fishing")
  })
})

describe("a message", () => {
  it("rule C1: is shown whole up to 2,000 characters, and cut there", () => {
    expect(Classification.MESSAGE_LIMIT).toBe(2_000)
    const messageOf = (length: number) => respond(400, { error: { message: "x".repeat(length) } }).message
    expect(messageOf(2_000)).toBe("x".repeat(2_000))
    expect(messageOf(2_001)).toBe(`${"x".repeat(1_999)}…`)
  })
})

describe("a thrown value", () => {
  it("rule C5: whose fields throw is no error, and causes none", () => {
    const closed = new Proxy(new Error("hidden"), {
      getPrototypeOf: () => {
        throw new Error("no")
      }
    })
    expect(Classification.ofThrown(closed, now)).toMatchObject({ reason: "unknown" })
  })
})
