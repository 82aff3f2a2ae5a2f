import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as Endpoint from "../../src/http/Endpoint.ts"
import type * as Http from "../../src/http/Http.ts"
import { given } from "../harness/Posted.ts"

const IDLE: Http.Listener = { head: () => {}, data: () => true, end: () => {}, broken: () => {} }

/** An endpoint, and the request that it would send. */
const make = (options: Endpoint.Options) => {
  const sent: Array<{
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }> = []
  const { post } = given()
  const http: Http.Http["Service"] = {
    endpoint: (url, headers) => (body, listener) => {
      sent.push({ url, headers, body })
      return post(listener)
    }
  }
  return { sent, endpoint: Endpoint.make(http, options, "/path", (key) => ({ authorization: `Bearer ${key}` })) }
}

describe("Endpoint", () => {
  it("the key is sent trimmed, the operator's headers in lower case and over ours, the body as JSON", () => {
    const { endpoint, sent } = make({
      baseUrl: "https://a.test/v1",
      apiKey: Redacted.make("sk-a-key\n"),
      headers: { "X-Tag": "t", "User-Agent": "mine", "x-secret": Redacted.make("a-hidden") }
    })
    endpoint.post({ a: [1] }, IDLE)
    expect(sent).toEqual([
      {
        url: "https://a.test/v1/path",
        headers: {
          accept: "text/event-stream",
          authorization: "Bearer sk-a-key",
          "user-agent": "mine",
          "x-secret": "a-hidden",
          "x-tag": "t"
        },
        body: '{"a":[1]}'
      }
    ])
    expect(endpoint.conceal("sk-a-key a-hidden mine t")).toBe("[redacted] [redacted] mine t")
  })

  it("without a key and headers only the user agent is sent, and nothing is redacted", () => {
    const { endpoint, sent } = make({ baseUrl: "https://a.test" })
    endpoint.post(null, IDLE)
    expect(sent).toEqual([
      { url: "https://a.test/path", headers: { accept: "text/event-stream", "user-agent": "holdfast" }, body: "null" }
    ])
    expect(endpoint.conceal("key")).toBe("key")
  })

  it("a path is inserted between the base and its query, with one slash", () => {
    for (const [base, url] of [
      ["https://a.test", "https://a.test/p"],
      ["https://a.test/", "https://a.test/p"],
      ["https://a.test/v1//", "https://a.test/v1/p"],
      ["https://a.test/v1?b=/", "https://a.test/v1/p?b=/"],
      ["https://a.test/?b", "https://a.test/p?b"],
      ["?b", "/p?b"]
    ] as const) {
      expect(Endpoint.join(base, "/p")).toBe(url)
    }
  })
})
