import { describe, expect, it } from "@effect/vitest"
import { defined } from "@holdfast/wire"
import * as CallBody from "../../src/gateway/CallBody.ts"
import * as Upstreams from "../../src/gateway/Upstreams.ts"
import * as GatedCall from "../../src/gateway/GatedCall.ts"
import * as Configurations from "../config/Configurations.ts"

const CALL = {
  rest: "/chat/completions",
  headers: ["authorization", "Bearer sk-1", "session-id", "s1"],
  body: { model: "m", stream: true, max_tokens: 5, messages: [{ content: "a" }] }
}

const keyOf = ({ body, ...call }: Omit<typeof CALL, "body"> & { readonly body: object }): string =>
  GatedCall.keyOf({ ...call, provider: "own", digest: undefined, body: Buffer.from(JSON.stringify(body)) })

describe("the same call", () => {
  it("is asked again with another stream, max_tokens or max_output_tokens", () => {
    const key = keyOf(CALL)
    expect(key).toMatch(/^[\w-]{22}$/)
    expect(keyOf({ ...CALL, body: { model: "m", messages: [{ content: "a" }] } })).toBe(key)
    expect(keyOf({ ...CALL, headers: [...CALL.headers, "x-stainless-retry-count", "1"] })).toBe(key)
  })

  it("may have the names of its objects in another order, and its lists not", () => {
    const of = (body: object) => keyOf({ ...CALL, body })
    const key = of({ model: "m", input: [{ a: 1, b: { c: 2, d: 3 } }, 4] })
    expect(of({ input: [{ b: { d: 3, c: 2 }, a: 1 }, 4], model: "m" })).toBe(key)
    expect(of({ model: "m", input: [4, { a: 1, b: { c: 2, d: 3 } }] })).not.toBe(key)
  })

  it("has the same path, credential, session and body", () => {
    const key = keyOf(CALL)
    const others = [
      { ...CALL, rest: "/responses" },
      { ...CALL, headers: ["authorization", "Bearer sk-2", "session-id", "s1"] },
      { ...CALL, headers: ["authorization", "Bearer sk-1", "session-id", "s2"] },
      { ...CALL, body: { ...CALL.body, messages: [{ content: "b" }] } }
    ]
    for (const name of ["api-key", "cookie", "ocp-apim-subscription-key", "x-goog-api-key", "proxy-authorization"]) {
      const of = (value: string) => keyOf({ ...CALL, headers: [name, value] })
      expect([name, of("of-client-a") === of("of-client-b")]).toEqual([name, false])
    }
    for (const other of others) expect(keyOf(other)).not.toBe(key)
  })

  it("has a beginning of its key that is the same for every login, and for nothing else", () => {
    const of = (headers: ReadonlyArray<string>) => keyOf({ ...CALL, headers: Array.from(headers) }).slice(0, 11)
    const session = ["session-id", "s1"]
    expect(of(["authorization", "Bearer sk-2", ...session])).toBe(of(CALL.headers))
    expect(of(["authorization", "Bearer sk-2", "session-id", "s2"])).not.toBe(of(CALL.headers))
    expect(keyOf({ ...CALL, rest: "/responses" }).slice(0, 11)).not.toBe(of(CALL.headers))
    const renewable = (headers: ReadonlyArray<string>, _tag: "Client" | "Holdfast" = "Client") =>
      GatedCall.isRenewable({ headers, key: _tag === "Client" ? { _tag } : { _tag, in: undefined } })
    expect([
      renewable(CALL.headers),
      renewable(CALL.headers, "Holdfast"),
      renewable(["authorization", "Bearer sk-2"]),
      renewable(["x-api-key", "sk", ...session])
    ]).toEqual([true, false, false, false])
  })

  it("is the one of its Idempotency-Key, whatever the body", () => {
    const named = { ...CALL, headers: [...CALL.headers, "Idempotency-Key", "k"] }
    expect(keyOf({ ...named, body: {} })).toBe(keyOf(named))
    expect(keyOf(named)).not.toBe(keyOf(CALL))
  })
})

describe("an attempt", () => {
  const { providers } = Configurations.config({
    file: {
      providers: {
        own: { type: "openai-compatible", baseUrl: "http://own.test/v1", apiKeyEnv: "OWN_KEY" },
        spare: { type: "openai-compatible", baseUrl: "http://spare.test/v1", apiKeyEnv: "SPARE_KEY" },
        google: { type: "gemini", baseUrl: "http://google.test" },
        other: { type: "gemini", baseUrl: "http://other.test" }
      },
      model: "own/m"
    },
    environment: { OWN_KEY: "sk-own-0123456789", SPARE_KEY: "sk-spare-0123456789" }
  })
  const endpoints = Upstreams.of({ providers })
  const of = (provider: string, credential?: string) =>
    GatedCall.credentialName(endpoints, { target: { provider, model: "m" }, ...defined({ credential }) }, undefined)

  it("has the name of the credential of the target that is called", () => {
    expect([of("own"), of("spare"), of("own", "OWN_KEY_2")]).toEqual(["OWN_KEY", "SPARE_KEY", "OWN_KEY_2"])
  })

  it("may be made at targets of the same wire format", () => {
    const fits = (provider: string, to: string, format: "chat" | "gemini" = "chat") => {
      const call = { provider, asked: { format, framing: "events", model: "m" } }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The parts that are read.
      return GatedCall.fits(call as unknown as GatedCall.GatedCall, endpoints, { provider: to, model: "m" })
    }
    const same = [fits("own", "own~client"), fits("own", "spare"), fits("google", "other", "gemini")]
    expect([...same, fits("own", "own", "gemini")]).toEqual([true, true, true, true])
    const others = [fits("own", "google"), fits("own", "nothing"), fits("nothing", "nothing")]
    expect([...others, fits("own", "spare", "gemini")]).toEqual([false, false, false, false])
  })
})

describe("a large body", () => {
  const of = (body: object, isTooLarge: boolean) => CallBody.outline(Buffer.from(JSON.stringify(body)), isTooLarge)

  it("has the digest of a small one with the same values", () => {
    const outline = of({ messages: [], b: 1, a: 2, model: "m", stream: true }, false)
    expect(outline?.members).toEqual({ model: "m", stream: true })
    expect(outline?.digest).toBe(CallBody.digestOf({ model: "m", a: 2, b: 1, messages: [] }))
  })

  it("that is too large or too deep has the digest of its bytes, and its model", () => {
    const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)},"stream":true,"model":"\\"m"}`
    const outline = CallBody.outline(Buffer.from(deep), true)
    expect(outline?.members).toEqual({ model: '"m', stream: true })
    const other = CallBody.outline(Buffer.from(deep.replace(',"stream":true', "")), true)
    expect([other?.members, other?.digest === outline?.digest]).toEqual([{ model: '"m' }, false])
  })

  it("that is no JSON has no outline", () => {
    expect(CallBody.outline(Buffer.from("{"), false)).toBeUndefined()
  })
})
