import { describe, expect, it } from "@effect/vitest"
import * as Credentials from "../../../src/config/redaction/Credentials.ts"

const NAMES = `
  Authorization Proxy-Authorization cf-aig-authorization x-api-key api-key apikey x-goog-api-key
  Ocp-Apim-Subscription-Key x-functions-key Cookie x-amz-security-token x-holdfast-token x-auth-token
  helicone-auth cf-access-client-secret
`
  .trim()
  .split(/\s+/)

const OTHERS = "idempotency-key session-id user-agent anthropic-beta x-max-tokens content-type author".split(" ")

describe("a header", () => {
  it.each(NAMES)("is a credential: %s", (name) => {
    expect(Credentials.isHeader(name)).toBe(true)
  })

  it.each(OTHERS)("is none: %s", (name) => {
    expect(Credentials.isHeader(name)).toBe(false)
  })
})

describe("the secrets of a request", () => {
  it("are the values of its credentials, with and without their scheme, each cookie, and keys of its query", () => {
    const headers = [
      "api-key",
      "azure-key-0123",
      "Authorization",
      "Bearer sk-0123456789",
      "cookie",
      "theme=evening; sid=s-012345"
    ]
    expect(Credentials.secretsOf(headers, "/models?alt=sse&key=AIza-0123456789&alt=long-enough")).toEqual([
      "azure-key-0123",
      "azure-key-0123",
      "Bearer sk-0123456789",
      "sk-0123456789",
      "theme=evening; sid=s-012345",
      "s-012345",
      "AIza-0123456789"
    ])
  })
})
