import { describe, expect, it } from "@effect/vitest"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Redacted } from "effect"
import { Headers } from "effect/http"
import * as Access from "../../src/http/Access.ts"
import * as PageSession from "../../src/http/page/PageSession.ts"

const TOKEN = "a-token-of-some-length"

const POLICY: Access.Policy = {
  host: "127.0.0.1",
  hostnames: [],
  token: undefined,
  maxBodyBytes: 100,
  cors: Access.corsOf([]),
  openPaths: []
}

const refusal = (
  headers: Record<string, string>,
  {
    method = "GET",
    url = "/v1/conversations/c",
    now = 0,
    ...policy
  }: Partial<Access.Policy> & { method?: string; url?: string; now?: number } = {}
) =>
  Access.make({ ...POLICY, ...policy })(
    { method, url, headers: Headers.fromInput({ host: "localhost:4747", ...headers }) },
    now
  )

const decide = (...given: Parameters<typeof refusal>) => refusal(...given)?._tag

describe("the host", () => {
  it("is this machine, an address, or a name that was configured", () => {
    for (const host of ["localhost", "LOCALHOST:80", "127.0.0.1:4747", "[::1]:4747", "10.0.0.7:4747", "[fe80::1]"]) {
      expect([host, decide({ host })]).toEqual([host, undefined])
    }
    expect(decide({ host: "holdfast.example.org" }, { hostnames: ["Holdfast.example.org"] })).toBe(undefined)
    expect(decide({ host: "box.lan:4747" }, { host: "box.lan" })).toBe(undefined)
  })

  it("is refused if it is another name, because a DNS server could have rebound it", () => {
    const names = "evil.example localhost.evil.example 127.0.0.1.evil.example a@localhost 0x7f.1".split(" ")
    for (const host of ["", ...names]) {
      expect([host, decide({ host })]).toEqual([host, "ForbiddenProblem"])
    }
  })
})

describe("the origin", () => {
  it("is absent, or the service's own", () => {
    expect(decide({})).toBe(undefined)
    expect(decide({ origin: "http://localhost:4747" })).toBe(undefined)
    // A proxy that speaks TLS leaves the host as it was.
    expect(decide({ origin: "https://localhost:4747" })).toBe(undefined)
  })

  it("is refused if it is another site, another port, or a sandboxed page", () => {
    for (const origin of [
      "https://evil.example",
      "http://localhost:3000",
      "null",
      "http://127.0.0.1:4747",
      "file://"
    ]) {
      expect([origin, decide({ origin })]).toEqual([origin, "ForbiddenProblem"])
    }
  })
})

describe("the token", () => {
  const token = Redacted.make(TOKEN)

  it("admits a request that carries it, with any spelling of the scheme", () => {
    expect(decide({ authorization: `Bearer ${TOKEN}` }, { token })).toBe(undefined)
    expect(decide({ authorization: `bearer ${TOKEN}` }, { token })).toBe(undefined)
  })

  it("is required by every call except /healthz and the paths that are open to read", () => {
    for (const authorization of [`Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, "Bearer", TOKEN]) {
      expect([authorization, decide({ authorization }, { token })]).toEqual([authorization, "UnauthorizedProblem"])
    }
    expect(decide({}, { token, url: "/openapi.json" })).toBe("UnauthorizedProblem")
    const details = ["/v1/turns", SocketMessages.PATH].map((url) => String(Object(refusal({}, { token, url })).detail))
    expect(details.map((detail) => detail.includes("subprotocol"))).toEqual([false, true])
    const openPaths = ["/docs"]
    expect(decide({}, { token, openPaths, url: "/docs?v=1" })).toBe(undefined)
    expect(decide({}, { token, openPaths, url: "/docs", method: "DELETE" })).toBe("UnauthorizedProblem")
    expect(decide({}, { token, openPaths, url: "/docs/../v1" })).toBe("UnauthorizedProblem")
    const folder = { token, openPaths: ["/assets/*"] }
    expect(decide({}, { ...folder, url: "/assets/page-1a2b.js" })).toBe(undefined)
    expect(decide({}, { ...folder, url: "/assets/../v1/turns" })).toBe("UnauthorizedProblem")
    expect(decide({}, { ...folder, url: "/assets/", method: "POST" })).toBe("UnauthorizedProblem")
    expect(decide({}, { token, url: "/healthz/../v1" })).toBe("UnauthorizedProblem")
    expect(decide({}, { token, url: "/healthz?verbose" })).toBe(undefined)
  })

  it("is not needed by a page that has exchanged it for a session, until that ends", () => {
    const session = PageSession.make(token, "a-nonce", 1_000)
    const ends = 1_000 + 7 * 24 * 3600_000
    const bearer = (value: string, more: Parameters<typeof refusal>[1] = {}) =>
      decide({ authorization: `Bearer ${value}` }, { token, now: 1_000, ...more })
    expect(session).not.toContain(TOKEN)
    expect(bearer(session)).toBe(undefined)
    expect(bearer(session, { now: ends - 1 })).toBe(undefined)
    expect(bearer(session, { now: ends })).toBe("UnauthorizedProblem")
    expect(bearer(session, { token: Redacted.make("another-token") })).toBe("UnauthorizedProblem")
    const [, end = "", ...rest] = session.split(".")
    const later = (Number.parseInt(end, 36) + 1).toString(36)
    for (const forged of [
      `page.${later}.${rest.join(".")}`,
      `${session}x`,
      session.slice(0, -1),
      "page.zzzzzzzzz",
      "page."
    ])
      expect([forged, bearer(forged)]).toEqual([forged, "UnauthorizedProblem"])
    expect(PageSession.make(token, "another", 1_000)).not.toBe(session)
    // A session begins no other one, or it would never end. It is no cookie.
    const begin = { method: "POST", url: PageSession.PATH }
    expect(bearer(session, begin)).toBe("UnauthorizedProblem")
    expect(bearer(TOKEN, begin)).toBe(undefined)
    expect(bearer(session, { ...begin, url: "/v1/turns" })).toBe(undefined)
    expect(decide({ cookie: `holdfast_page=${session}` }, { token })).toBe("UnauthorizedProblem")
  })

  it("may be a subprotocol of the WebSocket, and of nothing else", () => {
    const offered = `holdfast, ${SocketMessages.TOKEN_PREFIX}${Buffer.from(TOKEN).toString("base64url")}`
    const offers = (url: string, method = "GET") =>
      decide({ "sec-websocket-protocol": offered }, { token, url, method })
    expect(offers(SocketMessages.PATH)).toBe(undefined)
    expect(offers("/v1/turns")).toBe("UnauthorizedProblem")
    expect(offers(SocketMessages.PATH, "POST")).toBe("UnauthorizedProblem")
  })

  it("is not needed by a preflight of a page that may call, and by no other request", () => {
    const asks = { origin: "https://app.example.org", "access-control-request-method": "POST" }
    const cors = { allows: () => true }
    expect(decide(asks, { token, cors, method: "OPTIONS" })).toBe(undefined)
    expect(decide({ ...asks, origin: "http://localhost:4747" }, { token, method: "OPTIONS" })).toBe(
      "UnauthorizedProblem"
    )
    expect(decide(asks, { token, cors })).toBe("UnauthorizedProblem")
    expect(decide({ origin: asks.origin }, { token, cors, method: "OPTIONS" })).toBe("UnauthorizedProblem")
  })

  it("is checked after the host and the origin", () => {
    expect(decide({ origin: "https://evil.example" }, { token })).toBe("ForbiddenProblem")
  })
})

describe("a call below /to/", () => {
  const below = (headers: Record<string, string>, cors: Access.Policy["cors"] = POLICY.cors) =>
    decide(headers, { url: "/to/own/v1/models", cors })

  it("rule X13: passes for an agent, and for a call of a page that may call", () => {
    expect(below({})).toBe(undefined)
    expect(below({ "sec-fetch-mode": "cors" })).toBe(undefined) // Node's fetch
    const electron = { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", "sec-fetch-site": "none" }
    expect(below(electron)).toBe(undefined)
    const call = { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" }
    expect(below({ ...call, "sec-fetch-site": "same-origin" })).toBe(undefined)
    const page = { ...call, "sec-fetch-site": "cross-site", origin: "https://app.example.org" }
    expect(below(page, { allows: () => true })).toBe(undefined)
    expect(below(page)).toBe("ForbiddenProblem")
  })

  it.each([
    ["a navigation", { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none" }],
    ["a navigation of unknown destination", { "sec-fetch-mode": "navigate", "sec-fetch-site": "none" }],
    ["a frame", { "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate", "sec-fetch-site": "same-origin" }],
    ["a script", { "sec-fetch-dest": "script", "sec-fetch-mode": "no-cors", "sec-fetch-site": "same-origin" }],
    ["a worker", { "sec-fetch-dest": "worker", "sec-fetch-mode": "same-origin", "sec-fetch-site": "same-origin" }],
    ["a service worker", { "sec-fetch-dest": "serviceworker", "sec-fetch-mode": "same-origin" }],
    ["a service worker of an older browser", { "service-worker": "script" }],
    [
      "a fetch of another site",
      { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site" }
    ],
    ["a fetch of another port", { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors", "sec-fetch-site": "same-site" }]
  ])("rule X13: is refused as %s", (_what, headers) => {
    expect(below(headers)).toBe("ForbiddenProblem")
  })
})

describe("a refusal", () => {
  it("names what was found and what to do", () => {
    const says = (headers: Record<string, string>, method = "POST") => refusal(headers, { method })?.detail
    expect(says({ host: "evil.example" })).toMatch(/^This service does not accept the host "evil\.example"\. /)
    const noHost = Access.make(POLICY)({ method: "GET", url: "/", headers: Headers.empty }, 0)
    expect(noHost?.detail).toMatch(/does not accept the host \(none\)\./)
    expect(says({ origin: "https://evil.example" })).toMatch(/^Pages of "https:\/\/evil\.example" may not call/)
    expect(says({ "content-length": "2" })).toMatch(/^The body has no content type\. /)
    expect(says({ "content-type": "text/plain" })).toMatch(/^The body has the content type "text\/plain"\. /)
    expect(says({ "content-type": "application/json", "content-length": "101" })).toBe(
      "A body may have 100 bytes at most (server.maxBodyBytes), files as base64 included."
    )
  })
})

describe("the body", () => {
  const post = (headers: Record<string, string>) => decide(headers, { method: "POST" })

  it("is JSON with its content type, or is absent", () => {
    expect(post({})).toBe(undefined)
    expect(post({ "content-length": "0" })).toBe(undefined)
    expect(post({ "content-type": "application/json", "content-length": "2" })).toBe(undefined)
    expect(post({ "content-type": "Application/JSON; charset=utf-8", "content-length": "2" })).toBe(undefined)
  })

  it("is refused if it has another content type, or none", () => {
    expect(post({ "content-length": "2" })).toBe("UnsupportedMediaTypeProblem")
    expect(post({ "transfer-encoding": "chunked" })).toBe("UnsupportedMediaTypeProblem")
    expect(post({ "content-type": "text/plain", "content-length": "2" })).toBe("UnsupportedMediaTypeProblem")
    expect(post({ "content-type": "application/json-seq", "content-length": "2" })).toBe("UnsupportedMediaTypeProblem")
  })

  it("is refused by its announced length before any of it is read", () => {
    const large = 5 * Access.MOST_BYTES
    expect(["/v1/turns", "/v1/conversations"].map((url) => Access.bodyLimit(url, large))).toEqual([large, large / 5])
    expect(Access.tooLarge(Access.MOST_BYTES).detail).toBe("A body may have 1048576 bytes at most.")
    expect(post({ "content-type": "application/json", "content-length": "100" })).toBe(undefined)
    expect(post({ "content-type": "application/json", "content-length": "101" })).toBe("BodyTooLargeProblem")
  })
})
