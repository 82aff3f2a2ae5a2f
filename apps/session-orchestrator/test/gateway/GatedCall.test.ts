import { describe, expect, it } from "@effect/vitest"
import * as CallBody from "../../src/gateway/CallBody.ts"
import * as GatedCall from "../../src/gateway/GatedCall.ts"

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

  it("is the one of its Idempotency-Key, whatever the body", () => {
    const named = { ...CALL, headers: [...CALL.headers, "Idempotency-Key", "k"] }
    expect(keyOf({ ...named, body: {} })).toBe(keyOf(named))
    expect(keyOf(named)).not.toBe(keyOf(CALL))
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
    expect(CallBody.outline(Buffer.from(`${deep} `), true)?.digest).not.toBe(outline?.digest)
  })

  it("that is no JSON has no outline", () => {
    expect(CallBody.outline(Buffer.from("{"), false)).toBeUndefined()
  })
})
