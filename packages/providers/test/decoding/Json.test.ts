import { describe, expect, it } from "@effect/vitest"
import * as Json from "../../src/decoding/Json.ts"

const values: ReadonlyArray<unknown> = [
  undefined,
  null,
  true,
  "",
  "a",
  -1,
  0,
  1,
  1.5,
  2 ** 53,
  NaN,
  Infinity,
  [],
  [{}],
  {},
  { a: 1 }
]

describe("a value of an unexpected shape counts as absent", () => {
  it("a text is a string that is not empty", () => {
    expect(values.map(Json.textOf).filter((text) => text !== undefined)).toEqual(["a"])
  })

  it("a count is a whole number from 0 on", () => {
    expect(values.map(Json.countOf).filter((count) => count !== undefined)).toEqual([0, 1])
  })

  it("an object is neither null nor a list", () => {
    expect(values.filter(Json.isObject)).toEqual([{}, { a: 1 }])
    expect(values.map(Json.objectOf).filter((object) => "a" in object)).toEqual([{ a: 1 }])
    expect(values.map(Json.objectOf).every(Json.isObject)).toBe(true)
  })

  it("only the objects of a list are returned, and nothing for any other value", () => {
    expect(Json.objectsOf([1, { a: 1 }, null, [2], { b: 2 }])).toEqual([{ a: 1 }, { b: 2 }])
    expect(Json.objectsOf({ a: 1 })).toEqual([])
    expect(Json.objectsOf("[]")).toEqual([])
  })
})
