import { describe, expect, it } from "@effect/vitest"
import { Classification } from "@holdfast/policy"
import { Redacted } from "effect"
import * as fc from "fast-check"
import * as KeyRedaction from "../../src/KeyRedaction.ts"
import * as AttemptFailures from "../../src/transport/AttemptFailures.ts"
import { Failure } from "@holdfast/wire"

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

const overloaded = {
  reason: "overloaded",
  message: "Overloaded",
  status: 529,
  code: "overloaded_error",
  evidence: { "request-id": "req_01" }
} as const

describe("an error's whole body", () => {
  it("rule D5: is not kept where the failure has all its content", () => {
    const bodies = [
      "",
      "null",
      "Overloaded",
      " Overloaded\n",
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_01"}',
      '{"error":{"code":529,"message":"Overloaded","param":null,"fatal":false}}',
      '[{"error":{"message":" Overloaded "}}]',
      '{"error":{"message":"Overloaded","type":"service_unavailable_error","param":null,"code":"overloaded_error"}}',
      '{"error":{"code":529,"message":"Overloaded","status":"UNAVAILABLE"}}'
    ]
    for (const body of bodies) expect(AttemptFailures.bodyToKeep(body, overloaded), body).toBeUndefined()
  })

  it("rule D5: is kept unchanged where it has more content", () => {
    const bodies = [
      '{"error":{"message":"Overloaded","metadata":{"raw":"upstream is restarting"}}}',
      '{"error":{"message":"Overloaded","retry_in":7}}',
      '{"error":{"message":"Overloaded","type":"the pool is being drained"}}',
      '{"error":{"message":"Overloaded","class":"server_error"}}',
      '{"error":{"message":"Overloaded","type":503}}',
      '{"error":["Overloaded",{"message":"Overloaded"},["later"]]}',
      "<html><title>Overloaded</title>Back at six.</html>",
      '{"error":{"message":"Overloaded"'
    ]
    for (const body of bodies) expect(AttemptFailures.bodyToKeep(body, overloaded)).toBe(body)
  })

  it("rule D5: has at most 8,192 characters, and is not cut inside a character", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 })
    fc.assert(
      fc.property(text, fc.nat(20_000), (piece, length) => {
        const body = AttemptFailures.bodyToKeep(`x${piece}y`.repeat(Math.ceil(length / 2)).slice(0, length), overloaded)
        expect((body ?? "").length).toBeLessThanOrEqual(Failure.MOST_OF_BODY)
      })
    )
    const exact = "x".repeat(8_192)
    expect(AttemptFailures.bodyToKeep(exact, overloaded)).toBe(exact)
    expect(AttemptFailures.bodyToKeep(` ${exact}\n`, overloaded)).toBe(exact)
    expect(AttemptFailures.bodyToKeep(`${exact}x`, overloaded)).toBe(`${exact.slice(1)}…`)
    const long = AttemptFailures.bodyToKeep("🙂".repeat(8_000), overloaded) ?? ""
    expect(long.length).toBe(Failure.MOST_OF_BODY)
    expect(long.isWellFormed()).toBe(true)
    expect(AttemptFailures.bodyToKeep("[".repeat(60_000) + "]".repeat(60_000), overloaded)).toBeUndefined()
  })
})
