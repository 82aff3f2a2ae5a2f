import { describe, expect, it } from "@effect/vitest"
import * as CallKey from "../../src/gateway/CallKey.ts"

const CALL = {
  target: "own /chat/completions",
  headers: ["authorization", "Bearer sk-1", "session-id", "s1"],
  body: { model: "m", stream: true, max_tokens: 5, messages: [{ content: "a" }] }
}

describe("the same call", () => {
  it("is asked again with another stream, max_tokens or max_output_tokens", () => {
    const key = CallKey.of(CALL)
    expect(key).toMatch(/^[\w-]{22}$/)
    expect(CallKey.of({ ...CALL, body: { model: "m", messages: [{ content: "a" }] } })).toBe(key)
    expect(CallKey.of({ ...CALL, headers: [...CALL.headers, "x-stainless-retry-count", "1"] })).toBe(key)
  })

  it("may have the names of its objects in another order, and its lists not", () => {
    const keyOf = (body: object) => CallKey.of({ ...CALL, body })
    const key = keyOf({ model: "m", input: [{ a: 1, b: { c: 2, d: 3 } }, 4] })
    expect(keyOf({ input: [{ b: { d: 3, c: 2 }, a: 1 }, 4], model: "m" })).toBe(key)
    expect(keyOf({ model: "m", input: [4, { a: 1, b: { c: 2, d: 3 } }] })).not.toBe(key)
  })

  it("has the same path, credential, session and body", () => {
    const key = CallKey.of(CALL)
    const others = [
      { ...CALL, target: "own /responses" },
      { ...CALL, headers: ["authorization", "Bearer sk-2", "session-id", "s1"] },
      { ...CALL, headers: ["authorization", "Bearer sk-1", "session-id", "s2"] },
      { ...CALL, body: { ...CALL.body, messages: [{ content: "b" }] } }
    ]
    for (const name of ["api-key", "cookie", "ocp-apim-subscription-key", "x-goog-api-key", "proxy-authorization"]) {
      const keyOf = (value: string) => CallKey.of({ ...CALL, headers: [name, value] })
      expect([name, keyOf("of-client-a") === keyOf("of-client-b")]).toEqual([name, false])
    }
    for (const other of others) expect(CallKey.of(other)).not.toBe(key)
  })

  it("is the one of its Idempotency-Key, whatever the body", () => {
    const named = { ...CALL, headers: [...CALL.headers, "Idempotency-Key", "k"] }
    expect(CallKey.of({ ...named, body: {} })).toBe(CallKey.of(named))
    expect(CallKey.of(named)).not.toBe(CallKey.of(CALL))
  })
})
