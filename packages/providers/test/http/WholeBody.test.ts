import { describe, expect, it } from "@effect/vitest"
import { Failure } from "@holdfast/wire"
import * as fc from "fast-check"
import * as WholeBody from "../../src/http/WholeBody.ts"

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
      "Overloaded",
      " Overloaded\n",
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_01"}',
      '{"error":{"code":529,"message":"Overloaded","param":null,"fatal":false}}',
      '[{"error":{"message":" Overloaded "}}]',
      '{"error":{"message":"Overloaded","type":"service_unavailable_error","param":null,"code":"overloaded_error"}}',
      '{"error":{"code":529,"message":"Overloaded","status":"UNAVAILABLE"}}'
    ]
    for (const body of bodies) expect(WholeBody.of(body, overloaded), body).toBeUndefined()
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
    for (const body of bodies) expect(WholeBody.of(body, overloaded)).toBe(body)
  })

  it("rule D5: has at most 8,192 characters, and is not cut inside a character", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 })
    fc.assert(
      fc.property(text, fc.nat(20_000), (piece, length) => {
        const body = WholeBody.of(`x${piece}y`.repeat(Math.ceil(length / 2)).slice(0, length), overloaded)
        expect((body ?? "").length).toBeLessThanOrEqual(Failure.MOST_OF_BODY)
      })
    )
    const exact = "x".repeat(8_192)
    expect(WholeBody.of(exact, overloaded)).toBe(exact)
    expect(WholeBody.of(` ${exact}\n`, overloaded)).toBe(exact)
    expect(WholeBody.of(`${exact}x`, overloaded)).toBe(`${exact.slice(1)}…`)
    const long = WholeBody.of("🙂".repeat(8_000), overloaded) ?? ""
    expect(long.length).toBe(Failure.MOST_OF_BODY)
    expect(long.isWellFormed()).toBe(true)
    expect(WholeBody.of("[".repeat(60_000) + "]".repeat(60_000), overloaded)).toBeUndefined()
  })
})
