import { describe, expect, it } from "@effect/vitest"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Redacted } from "effect"
import { Headers } from "effect/http"
import * as Access from "../../src/http/Access.ts"
import * as PageSession from "../../src/http/page/PageSession.ts"

const TOKEN = "a-token-of-some-length"

const OPEN = { token: undefined, cors: Access.corsOf([]), openPaths: [] }
const POLICY: Access.Policy = { ...OPEN, host: "127.0.0.1", hostnames: [], maxBodyBytes: 100 }

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

it.each<[what: string, name: string, values: ReadonlyArray<string>, outcome: string | undefined]>([
  [
    "a host is this machine or an address",
    "host",
    ["localhost", "LOCALHOST:80", "127.0.0.1:4747", "[::1]:4747", "10.0.0.7:4747", "[fe80::1]"],
    undefined
  ],
  [
    "a host is no other name, because a DNS server could have rebound it",
    "host",
    ["", ..."evil.example localhost.evil.example 127.0.0.1.evil.example a@localhost 0x7f.1".split(" ")],
    "ForbiddenProblem"
  ],
  // A proxy that speaks TLS leaves the host as it was.
  ["an origin is the service's own", "origin", ["http://localhost:4747", "https://localhost:4747"], undefined],
  [
    "an origin is no other site, no other port and no sandboxed page",
    "origin",
    ["https://evil.example", "http://localhost:3000", "null", "http://127.0.0.1:4747", "file://"],
    "ForbiddenProblem"
  ]
])("%s", (_what, name, values, outcome) => {
  expect(values.map((value) => [value, decide({ [name]: value })])).toEqual(values.map((value) => [value, outcome]))
})

it("a host is also a name that was configured, and an origin may be absent", () => {
  const named = decide({ host: "holdfast.example.org" }, { hostnames: ["Holdfast.example.org"] })
  expect(named ?? decide({ host: "box.lan:4747" }, { host: "box.lan" }) ?? decide({})).toBe(undefined)
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
    const details = ["/v1/turns", SocketMessages.PATH].map((url) => String(Object(refusal({}, { token, url })).detail))
    expect(details.map((detail) => detail.includes("subprotocol"))).toEqual([false, true])
    const openPaths = ["/docs", "/assets/*"]
    const read = (url: string, method = "GET") => decide({}, { token, openPaths, url, method })
    const open = ["/docs?v=1", "/assets/page-1a2b.js", "/healthz?verbose"]
    expect(open.map((url) => read(url))).toEqual(Array(3).fill(undefined))
    const guarded = ["/openapi.json", "/docs/../v1", "/assets/../v1/turns", "/healthz/../v1"].map((url) => read(url))
    expect([...guarded, read("/docs", "DELETE"), read("/assets/", "POST")]).toEqual(
      Array(6).fill("UnauthorizedProblem")
    )
  })

  it("is not needed by a page that has exchanged it for a session, until that ends", () => {
    const session = PageSession.make(token, "a-nonce", 1_000)
    const ends = 1_000 + 7 * 24 * 3600_000
    const bearer = (value: string, more: Parameters<typeof refusal>[1] = {}) =>
      decide({ authorization: `Bearer ${value}` }, { token, now: 1_000, ...more })
    expect(session).not.toContain(TOKEN)
    expect([bearer(session), bearer(session, { now: ends - 1 })]).toEqual([undefined, undefined])
    expect(bearer(session, { now: ends })).toBe("UnauthorizedProblem")
    expect(bearer(session, { token: Redacted.make("another-token") })).toBe("UnauthorizedProblem")
    const [, end = "", ...rest] = session.split(".")
    const later = (Number.parseInt(end, 36) + 1).toString(36)
    const others = [`page.${later}.${rest.join(".")}`, `${session}x`, session.slice(0, -1), "page.zzzzzzzzz", "page."]
    for (const forged of others) expect([forged, bearer(forged)]).toEqual([forged, "UnauthorizedProblem"])
    expect(PageSession.make(token, "another", 1_000)).not.toBe(session)
    // A session begins no other one, or it would never end. It is no cookie.
    const begin = { method: "POST", url: PageSession.PATH }
    expect([bearer(session, begin), bearer(TOKEN, begin)]).toEqual(["UnauthorizedProblem", undefined])
    expect(bearer(session, { ...begin, url: "/v1/turns" })).toBe(undefined)
    expect(decide({ cookie: `holdfast_page=${session}` }, { token })).toBe("UnauthorizedProblem")
  })

  it("may be a subprotocol of the WebSocket, and of nothing else", () => {
    const offered = `holdfast, ${SocketMessages.TOKEN_PREFIX}${Buffer.from(TOKEN).toString("base64url")}`
    const offers = (url: string, method = "GET") =>
      decide({ "sec-websocket-protocol": offered }, { token, url, method })
    expect([offers(SocketMessages.PATH), offers("/v1/turns")]).toEqual([undefined, "UnauthorizedProblem"])
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

it("a page of a listed origin may read responses and call, and no other page may", () => {
  const cors = Access.corsOf(["https://app.example.org", "http://localhost:3000"])
  const asked = (method: string, more: Record<string, string>) => {
    const head = { method, url: "/v1", headers: Headers.fromInput({ origin: "http://localhost:3000", ...more }) }
    return [Object.values(cors.headersOf(head)), Object.values(cors.preflight(head, (url) => [url, "POST"]) ?? {})]
  }
  const exposed = "Date, Location, Preference-Applied, Retry-After, X-Vercel-AI-UI-Message-Stream"
  const read = ["Origin", "http://localhost:3000", exposed]
  const asks = { "access-control-request-method": "POST" }
  expect([asked("GET", asks), asked("OPTIONS", {})]).toEqual([read, read].map((it) => [it, []]))
  expect(asked("OPTIONS", { ...asks, origin: "http://localhost" })).toEqual([["Origin"], []])
  for (const names of ["Content-Type, x-a_1 ,y", "a b", "a,,b", ",a", "a,", ""]) {
    const allowed = ["/v1, POST", "7200", ...(names.includes("y") ? [names] : [])]
    expect(asked("OPTIONS", { ...asks, "access-control-request-headers": names })).toEqual([read, allowed])
  }
  expect(["http://localhost:3000", "https://app.example.org", "null"].map(cors.allows)).toEqual([true, true, false])
  expect(Access.corsOf([]).headersOf({ headers: Headers.fromInput({ origin: "null" }) })).toEqual({})
})

describe("a call below /to/", () => {
  const below = (headers: Record<string, string>, cors: Access.Policy["cors"] = POLICY.cors) =>
    decide(headers, { url: "/to/own/v1/models", cors })

  it("rule X13: passes for an agent, and for a call of a page that may call", () => {
    const call = { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" }
    // Those of Node's `fetch`, of Electron, and of a page of Holdfast's own.
    const electron = { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", "sec-fetch-site": "none" }
    const calls = [{}, { "sec-fetch-mode": "cors" }, electron, { ...call, "sec-fetch-site": "same-origin" }]
    expect(calls.map((headers) => below(headers))).toEqual(Array(4).fill(undefined))
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
    ["a foreign fetch", { "sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors", "sec-fetch-site": "cross-site" }],
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

  it("is JSON with its content type, or is absent; another content type, or none, is refused", () => {
    const typed = (type: string) => post({ "content-type": type, "content-length": "2" })
    const accepted = ["application/json", "Application/JSON; charset=utf-8"].map(typed)
    expect([post({}), post({ "content-length": "0" }), ...accepted]).toEqual(Array(4).fill(undefined))
    const refused = ["text/plain", "application/json-seq"].map(typed)
    const untyped = [post({ "content-length": "2" }), post({ "transfer-encoding": "chunked" })]
    expect([...untyped, ...refused]).toEqual(Array(4).fill("UnsupportedMediaTypeProblem"))
  })

  it("is refused by its announced length before any of it is read", () => {
    const large = 5 * Access.MOST_BYTES
    expect(["/v1/turns", "/v1/conversations"].map((url) => Access.bodyLimit(url, large))).toEqual([large, large / 5])
    expect(Access.tooLarge(Access.MOST_BYTES).detail).toBe("A body may have 1048576 bytes at most.")
    expect(post({ "content-type": "application/json", "content-length": "100" })).toBe(undefined)
    expect(post({ "content-type": "application/json", "content-length": "101" })).toBe("BodyTooLargeProblem")
  })
})
