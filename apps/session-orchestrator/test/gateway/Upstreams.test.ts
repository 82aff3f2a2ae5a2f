import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as Upstreams from "../../src/gateway/Upstreams.ts"

const TOKEN = "a-token-of-some-length"

interface Place {
  readonly isLoopback: boolean
  readonly token: string | undefined
}

const decide = (headers: ReadonlyArray<string>, { isLoopback, token }: Place = { isLoopback: false, token: TOKEN }) =>
  Upstreams.deciding({ isLoopback, token: token === undefined ? undefined : Redacted.make(token) })(headers)

describe("on this machine alone", () => {
  const local = { isLoopback: true, token: undefined }

  it("any credential is the client's own", () => {
    for (const headers of [[], ["Authorization", "Bearer sk-1"], ["x-api-key", "k"], ["x-goog-api-key", "k"]]) {
      expect(decide(headers, local)).toEqual({ _tag: "Client" })
    }
  })

  it("the word holdfast stands for the provider's key, in each header", () => {
    expect(decide(["authorization", "Bearer holdfast"], local)).toEqual({ _tag: "Holdfast", in: "authorization" })
    expect(decide(["X-Api-Key", "holdfast"], local)).toEqual({ _tag: "Holdfast", in: "x-api-key" })
    expect(decide(["x-goog-api-key", "holdfast"], local)).toEqual({ _tag: "Holdfast", in: "x-goog-api-key" })
  })

  it("the word means nothing where there is a token", () => {
    expect(decide(["x-api-key", "holdfast"], { isLoopback: true, token: TOKEN })).toEqual({ _tag: "Client" })
    expect(decide(["x-api-key", TOKEN], { isLoopback: true, token: TOKEN })).toEqual({
      _tag: "Holdfast",
      in: "x-api-key"
    })
  })
})

describe("on an address that others can reach", () => {
  it("the token is required", () => {
    for (const headers of [
      [],
      ["authorization", "Bearer sk-1"],
      ["x-api-key", "holdfast"],
      ["x-holdfast-token", "no"]
    ]) {
      expect(decide(headers)._tag).toBe("Refused")
    }
  })

  it("the token is the credential, or stands beside it", () => {
    expect(decide(["api-key", TOKEN])).toEqual({ _tag: "Holdfast", in: "api-key" })
    expect(decide(["x-holdfast-token", TOKEN, "api-key", "k"])).toEqual({ _tag: "Client" })
    expect(decide(["x-holdfast-token", TOKEN, "cookie", "a=1"])).toEqual({ _tag: "Holdfast", in: undefined })
    expect(decide(["authorization", `Bearer ${TOKEN}`])).toEqual({ _tag: "Holdfast", in: "authorization" })
    expect(decide(["x-holdfast-token", TOKEN, "x-api-key", "sk-1"])).toEqual({ _tag: "Client" })
    expect(decide(["x-holdfast-token", TOKEN])).toEqual({ _tag: "Holdfast", in: undefined })
  })
})
