import { describe, expect, it } from "@effect/vitest"
import { Classification } from "../../src/index.ts"

const now = Date.parse("2031-04-01T00:00:00Z")

const evidenceOf = (headers: Readonly<Record<string, string>>) =>
  Classification.ofResponse({ status: 429, headers, body: "", now }).evidence

describe("Evidence", () => {
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
