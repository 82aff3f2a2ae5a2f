import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Headers } from "effect/http"
import * as Access from "../../src/http/Access.ts"
import * as PageSession from "../../src/http/page/PageSession.ts"

const TOKEN = "a-token-of-some-length"

const refusal = (
  headers: Record<string, string>,
  {
    method = "GET",
    url = "/v1/conversations/c",
    ...policy
  }: Partial<Access.Policy> & { method?: string; url?: string } = {}
) =>
  Access.make({ host: "127.0.0.1", maxBodyBytes: 100, ...policy })({
    method,
    url,
    headers: Headers.fromInput({ host: "localhost:4747", ...headers })
  })

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
    for (const host of [
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "",
      "a@localhost",
      "0x7f.1"
    ]) {
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

  it("is not needed by a browser that has exchanged it for the cookie", () => {
    const [cookie = ""] = PageSession.setCookie(token, undefined).split(";")
    expect(cookie).not.toContain(TOKEN)
    expect(decide({ cookie: `theme=dark; ${cookie}` }, { token })).toBe(undefined)
    expect(decide({ cookie, "sec-fetch-site": "same-origin" }, { token })).toBe(undefined)
    expect(decide({ cookie, "sec-fetch-site": "none" }, { token })).toBe(undefined)
    // Another port of this machine is the same site, so a browser sends the cookie with an image of a page there.
    for (const site of ["same-site", "cross-site"]) {
      expect(decide({ cookie, "sec-fetch-site": site }, { token })).toBe("UnauthorizedProblem")
    }
    expect(decide({ cookie, origin: "http://localhost:3000" }, { token })).toBe("ForbiddenProblem")
    expect(decide({ cookie: `${cookie}x` }, { token })).toBe("UnauthorizedProblem")
    expect(decide({ cookie: cookie.replace(/=.*/, `=${TOKEN}`) }, { token })).toBe("UnauthorizedProblem")
    expect(decide({ cookie }, { token: Redacted.make("another-token") })).toBe("UnauthorizedProblem")
  })

  it("is checked after the host and the origin", () => {
    expect(decide({ origin: "https://evil.example" }, { token })).toBe("ForbiddenProblem")
  })
})

describe("a refusal", () => {
  it("names what was found and what to do", () => {
    const says = (headers: Record<string, string>, method = "POST") => refusal(headers, { method })?.detail
    expect(says({ host: "evil.example" })).toMatch(/^This service does not accept the host "evil\.example"\. /)
    const noHost = Access.make({ host: "127.0.0.1", maxBodyBytes: 100 })({
      method: "GET",
      url: "/",
      headers: Headers.empty
    })
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
    expect(post({ "content-type": "application/json", "content-length": "100" })).toBe(undefined)
    expect(post({ "content-type": "application/json", "content-length": "101" })).toBe("BodyTooLargeProblem")
  })
})
