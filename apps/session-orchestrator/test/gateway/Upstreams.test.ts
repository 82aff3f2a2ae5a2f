import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as Configurations from "../config/Configurations.ts"
import * as Address from "../../src/gateway/Address.ts"
import * as Headers from "../../src/gateway/Headers.ts"
import * as Upstreams from "../../src/gateway/Upstreams.ts"

const TOKEN = "a-token-of-some-length"

/** On this machine alone; the same with a token; an address that others can reach, which has one. */
const places = {
  local: { isLoopback: true, token: undefined },
  guarded: { isLoopback: true, token: Redacted.make(TOKEN) },
  remote: { isLoopback: false, token: Redacted.make(TOKEN) }
}

const client = { _tag: "Client" }
const holdfast = (header?: string) => ({ _tag: "Holdfast", in: header })
const refused = expect.objectContaining({ _tag: "Refused" })

describe("the credential of a call", () => {
  it.each<[what: string, place: keyof typeof places, headers: ReadonlyArray<string>, decision: object]>([
    ["is the client's own", "local", [], client],
    ["is the client's own", "local", ["Authorization", "Bearer sk-1"], client],
    ["is the client's own", "local", ["x-api-key", "k"], client],
    ["is the client's own", "local", ["x-goog-api-key", "k"], client],
    ["is the provider's for the word", "local", ["authorization", "Bearer holdfast"], holdfast("authorization")],
    ["is the provider's for the word", "local", ["X-Api-Key", "holdfast"], holdfast("x-api-key")],
    ["is the provider's for the word", "local", ["x-goog-api-key", "holdfast"], holdfast("x-goog-api-key")],
    ["is the client's, whose word means nothing", "guarded", ["x-api-key", "holdfast"], client],
    ["is the provider's for the token", "guarded", ["x-api-key", TOKEN], holdfast("x-api-key")],
    ["is refused without the token", "remote", [], refused],
    ["is refused without the token", "remote", ["authorization", "Bearer sk-1"], refused],
    ["is refused without the token", "remote", ["x-api-key", "holdfast"], refused],
    ["is refused with a wrong token", "remote", ["x-holdfast-token", "no"], refused],
    ["is the provider's for the token", "remote", ["api-key", TOKEN], holdfast("api-key")],
    ["is the provider's for the token", "remote", ["authorization", `Bearer ${TOKEN}`], holdfast("authorization")],
    ["is the client's beside the token", "remote", ["x-holdfast-token", TOKEN, "api-key", "k"], client],
    ["is the client's beside the token", "remote", ["x-holdfast-token", TOKEN, "x-api-key", "sk-1"], client],
    ["is no cookie", "remote", ["x-holdfast-token", TOKEN, "cookie", "a=1"], holdfast()],
    ["is the provider's with the token alone", "remote", ["x-holdfast-token", TOKEN], holdfast()]
  ])("%s: %s, %j", (_what, place, headers, decision) => {
    expect(Upstreams.deciding(places[place])(headers)).toEqual(decision)
  })
})

describe("the address of a provider", () => {
  it("is below its base URL, whose query comes last", () => {
    expect(Address.below("https://a.example/v1/", "/chat")).toBe("https://a.example/v1/chat")
    expect(Address.below("https://a.example?v=1", "/chat")).toBe("https://a.example/chat?v=1")
    expect(Address.below("https://a.example?v=1", "/chat?k=2")).toBe("https://a.example/chat?k=2&v=1")
  })

  it.each([
    ["http://127.0.0.1:4747/to/openai", true],
    ["http://127.0.0.1:4748/to/openai", false],
    ["http://gate.example:4747/to", true],
    ["http://other.example:4747/to", false],
    ["http://gate.example:4747/v1", false],
    ["no address", false]
  ])("is this service's own: %s: %s", (url, isOwn) => {
    expect(Address.isOwn(url, { host: "gate.example", port: 4_747 })).toBe(isOwn)
  })

  it("has the port of its scheme if it names none", () => {
    const own = (port: number) =>
      ["http", "https"].map((scheme) => Address.isOwn(`${scheme}://gate.example/to/a`, { host: "gate.example", port }))
    expect([...own(80), ...own(443)]).toEqual([true, false, false, true])
  })
})

const ENDPOINTS = Upstreams.of(
  Configurations.config({
    file: {
      providers: {
        own: {
          type: "openai-compatible",
          baseUrl: "http://own.test/v1",
          apiKeyEnv: ["A", "B"],
          headers: { "X-Own": "o" }
        },
        claude: { type: "anthropic", apiKeyEnv: "A", baseUrl: "http://claude.test" },
        free: { type: "openai-compatible", baseUrl: "http://free.test", headers: { Authorization: "Basic 1" } },
        keyless: { type: "openai-compatible", baseUrl: "http://keyless.test", apiKeyEnv: "C" },
        simulated: { type: "simulated" }
      },
      model: "own/m"
    },
    environment: { A: " key-a-0123456789 ", B: "key-b-0123456789" }
  })
)

it("a call has the provider's key where the client's was, and the provider's own headers", () => {
  const given = ["api-key", "k", "Authorization", "Bearer c", "x-own", "c", "Accept", "*/*"]
  const keyed = (name: string, at?: "api-key" | "authorization", credential?: string) =>
    Upstreams.keyed(ENDPOINTS.get(name) ?? expect.fail(name), at, given, credential)
  const kept = ["Accept", "*/*"]
  expect([keyed("own"), keyed("own", "api-key", "B"), keyed("claude", "authorization"), keyed("free")]).toEqual([
    [...kept, "authorization", "Bearer key-a-0123456789", "X-Own", "o"],
    [...kept, "api-key", "key-b-0123456789", "X-Own", "o"],
    ["x-own", "c", ...kept, "x-api-key", "key-a-0123456789"],
    ["x-own", "c", ...kept, "Authorization", "Basic 1"]
  ])
  expect(keyed("keyless")).toBeUndefined()
  expect(Array.from(ENDPOINTS.keys()).slice(-4)).toEqual(["own", "claude", "free", "keyless"])
})

it("rule X13: headers pass that are of no connection, of no origin, and none of Holdfast's", () => {
  const passing = ["Accept", "a", "accept", "b"]
  const dropped = ["Connection", "X-Hop, x-hop-2", "x-hop", "1", "X-Hop-2", "2", "TE", "3", "X-Holdfast-Token", "4"]
  const raw = [...passing, ...dropped]
  const own = ["Host", "h", "Expect", "100-continue", "Accept-Encoding", "br"]
  const request = (...more: ReadonlyArray<string>) => Headers.ofRequest([...raw, ...own, "Cookie", "c", ...more])
  const cookie = [...passing, "Cookie", "c"]
  expect([request(), request("Origin", "o"), request("Sec-Fetch-Site", "none")]).toEqual([
    cookie,
    [...passing, "Origin", "o"],
    [...passing, "Sec-Fetch-Site", "none"]
  ])
  const response = [...raw, "Set-Cookie", "c", "Content-Security-Policy-Report-Only", "p", "Content-Length", "5"]
  expect([true, false].map((isWhole) => Headers.ofResponse(response, isWhole))).toEqual([
    [...passing, "Content-Length", "5"],
    passing
  ])
  expect(Headers.record([...passing, "B", "c"])).toEqual({ accept: "a, b", b: "c" })
})
