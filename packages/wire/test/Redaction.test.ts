import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Redaction from "../src/Redaction.ts"

describe("a redacted text", () => {
  it("is JSON if it was JSON, whatever was redacted", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.integer({ min: 1, max: 9 }), (json, at, length) => {
        const start = at % json.length
        const secret = json.slice(start, start + length)
        const redacted = Redaction.keepingJson(json, (text) => text.replaceAll(secret, Redaction.PLACEHOLDER))
        if (/^\s*[{[]/.test(json)) expect(() => JSON.parse(redacted)).not.toThrow()
      })
    )
  })

  it("is the plain replacement where it was no JSON, or stays JSON", () => {
    const redact = (text: string) => text.replaceAll("12345678", Redaction.PLACEHOLDER)
    for (const text of ['{ "a" : "12345678" }', "{ 12345678", "id 12345678"])
      expect(Redaction.keepingJson(text, redact)).toBe(redact(text))
    expect(Redaction.keepingJson('{ "a" : 12345678, "of 12345678": 1 }', redact)).toBe(
      '{"a":"[redacted]","of [redacted]":1}'
    )
  })
})
