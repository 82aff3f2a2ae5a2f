import { describe, expect, it } from "@effect/vitest"
import * as BodyPatch from "../../src/requests/BodyPatch.ts"

describe("BodyPatch", () => {
  /** RFC 7396, appendix A, as far as both sides are objects. */
  it.each<[BodyPatch.JsonFields, BodyPatch.JsonFields, BodyPatch.JsonFields]>([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{ a: "b" }, { a: { b: 1, c: null } }, { a: { b: 1 } }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }]
  ])("%j with %j is %j, and neither changes", (target, patch, expected) => {
    const before = JSON.stringify([target, patch])
    expect(BodyPatch.apply(target, patch)).toEqual(expected)
    expect(JSON.stringify([target, patch])).toBe(before)
  })

  it("a model's fields are merged after the provider's, and other models' fields are not", () => {
    const options = {
      body: { temperature: 0, stop: ["a"], provider: { sort: "price", zdr: true } },
      modelBody: new Map<string, BodyPatch.JsonFields>([
        ["m", { temperature: 1, stop: null, provider: { sort: "latency" } }],
        ["n", { seed: 1 }]
      ])
    }
    expect(BodyPatch.merge({ stream: true }, "m", options)).toEqual({
      stream: true,
      temperature: 1,
      provider: { sort: "latency", zdr: true }
    })
    expect(BodyPatch.merge({ stream: true }, "other", options)).toEqual({ stream: true, ...options.body })
  })

  it("a field called __proto__ is a field", () => {
    const patch: BodyPatch.JsonFields = JSON.parse('{"__proto__":{"polluted":true}}')
    expect(JSON.stringify(BodyPatch.apply({}, patch))).toBe('{"__proto__":{"polluted":true}}')
    expect("polluted" in {}).toBe(false)
  })
})
