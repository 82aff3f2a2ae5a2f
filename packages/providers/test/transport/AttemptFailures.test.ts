import { describe, expect, it } from "@effect/vitest"
import { Classification } from "@holdfast/policy"
import { Redacted } from "effect"
import * as fc from "fast-check"
import * as KeyRedaction from "../../src/KeyRedaction.ts"
import * as AttemptFailures from "../../src/transport/AttemptFailures.ts"

const context = (...secrets: ReadonlyArray<string>) => ({
  conceal: KeyRedaction.conceal(secrets.map((secret) => Redacted.make(secret))),
  now: () => 0
})

const USED_UP = JSON.stringify({
  error: { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" }
})

const response = { status: 429, headers: {} }

describe("a failure without secrets", () => {
  it("rule C13: is what the error is, even if a secret has the words that decide", () => {
    for (const secret of ["quota", "429", "insufficient_quota", '"error":', "12345678"]) {
      const { failure } = AttemptFailures.ofResponse(context(secret), response, USED_UP)
      expect([secret, failure.reason, failure.retryable]).toEqual([secret, "quota-exhausted", false])
    }
  })

  it("rule C13: any part of an error may be a secret: only its words change, and none has the secret", () => {
    const bodies = [
      USED_UP,
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
      '{"error":{"code":429,"message":"Resets in 34s","details":[{"@type":"RetryInfo","retryDelay":"34s"}]}}',
      "upstream connect error or disconnect/reset before headers",
      "<html><title>502 Bad Gateway</title></html>"
    ]
    const meaning = (failure: object) => JSON.stringify({ ...failure, message: "", code: "" })
    fc.assert(
      fc.property(fc.constantFrom(...bodies), fc.nat(), fc.integer({ min: 8, max: 24 }), (body, at, length) => {
        const start = at % (body.length - length)
        const secret = body.slice(start, start + length)
        const { body: whole = "", failure } = AttemptFailures.ofResponse(context(secret), response, body)
        expect(meaning(failure)).toBe(meaning(Classification.ofResponse({ ...response, body, now: 0 })))
        // A secret that reaches into the syntax of JSON is found in no string.
        if (/^\w[\w .]+\w$/.test(secret)) expect(`${failure.message} ${failure.code} ${whole}`).not.toContain(secret)
      })
    )
  })

  it("has no half of a secret where its message is cut", () => {
    const secret = "sk-0123456789-0123456789"
    const message = `${"x".repeat(Classification.MESSAGE_LIMIT - 10)}${secret}`
    const { failure } = AttemptFailures.ofResponse(context(secret), response, JSON.stringify({ error: { message } }))
    expect(failure.message).not.toContain("sk-0")
  })
})
