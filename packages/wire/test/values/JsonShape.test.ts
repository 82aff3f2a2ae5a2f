import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as JsonShape from "../../src/values/JsonShape.ts"

/** A value that is `levels` deep: arrays and objects in turn. */
const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { "]": value }
  return value
}

/** The result of `measure`, computed by recursion. */
const levelsOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0

const charactersOf = (value: unknown): number => {
  if (typeof value === "string") return value.length + 1
  if (typeof value !== "object" || value === null) return 1
  const keys = Array.isArray(value) ? [] : Object.keys(value)
  return 1 + [...keys.map((key) => key.length), ...Object.values(value).map(charactersOf)].reduce((a, b) => a + b, 0)
}

describe("JsonShape", () => {
  it("rule C11: a value of so many levels is accepted, one level more is too deep", () => {
    expect(JsonShape.measure(nested(JsonShape.MOST_LEVELS)).isTooDeep).toBe(false)
    expect(JsonShape.measure(nested(JsonShape.MOST_LEVELS + 1)).isTooDeep).toBe(true)
    expect(JsonShape.isTextTooDeep(JSON.stringify(nested(JsonShape.MOST_LEVELS)))).toBe(false)
    expect(JsonShape.isTextTooDeep(JSON.stringify(nested(JsonShape.MOST_LEVELS + 1)))).toBe(true)
  })

  it("levels and characters of any JSON equal the recursive result, for the value and for its text", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, depthSize: "large" }), fc.nat(6), (value, levels) => {
        const isTooDeep = levelsOf(value) > levels
        const measured = JsonShape.measure(value, Infinity, levels)
        expect(measured.isTooDeep).toBe(isTooDeep)
        if (!isTooDeep) expect(measured.characters).toBe(charactersOf(value))
        expect(JsonShape.isTextTooDeep(JSON.stringify(value), levels)).toBe(isTooDeep)
        expect(JsonShape.isTextTooDeep(JSON.stringify(value, null, 2), levels)).toBe(isTooDeep)
      }),
      { numRuns: 300 }
    )
  })

  it("the excess of a text is named, with the member that has it where that is a plain name", () => {
    const many = Array.from({ length: JsonShape.MOST_VALUES }, () => 0)
    const of = (value: unknown, space?: number) => JsonShape.excessOf(JSON.stringify(value, null, space))
    for (const space of [0, 2]) {
      expect(of({ a: "b", prompt: many, c: [] }, space)).toBe('more than 10000 values, in "prompt"')
      expect(of({ a: { b: "c" }, x: { y: nested(200) } }, space)).toBe('more than 200 levels, in "x"')
      for (const value of [many, ["a", many], { "a\nb": many }, { ["a".repeat(41)]: many }, { ...many }])
        expect(of(value, space)).toBe("more than 10000 values")
    }
    expect(of({ prompt: many.slice(9) })).toBe(undefined)
  })

  it("the values of any JSON text are counted, wherever the text is cut", () => {
    const valuesOf = (value: unknown): number =>
      typeof value === "object" && value !== null
        ? Object.values(value).reduce((sum: number, child) => sum + valuesOf(child), 1)
        : 1
    const text = fc.oneof(fc.string(), fc.constantFrom("\\", '"', '\\"', '\\\\"[,', "{"))
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        text,
        fc.integer(),
        fc.array(tie("value")),
        fc.dictionary(text, tie("value"))
      )
    })).value
    fc.assert(
      fc.property(json, fc.boolean(), fc.integer({ min: 1, max: 9 }), (value, isSpaced, size) => {
        const text = JSON.stringify(value, null, isSpaced ? 2 : undefined)
        const excessAt = (most: number) => {
          const scan = new JsonShape.Scan(most, Infinity)
          for (let at = 0; at < text.length; at += size) scan.push(text.slice(at, at + size))
          return scan.push("")
        }
        const values = valuesOf(value)
        // One value is counted in advance for an array that may end empty.
        expect(excessAt(values + 1)).toBeUndefined()
        const isAtom = values === 1 && typeof value !== "object"
        expect(excessAt(values - 1)?.includes(`more than ${values - 1} values`)).toBe(isAtom ? undefined : true)
      }),
      { numRuns: 500 }
    )
  })

  it("the text of any JSON is that of JSON.stringify, and its beginning where it is cut", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(60), (value, most) => {
        const whole = JSON.stringify(value)
        expect(JsonShape.textOf(value, Infinity)).toBe(whole)
        expect(JsonShape.textOf(value, most)).toBe(whole.slice(0, most))
      }),
      { numRuns: 300 }
    )
  })

  it("a value of a million levels, on which JSON.stringify overflows the stack, is measured and written", () => {
    const deep = nested(1_000_000)
    expect(() => JSON.stringify(deep)).toThrow(RangeError)
    expect(JsonShape.measure(deep).isTooDeep).toBe(true)
    expect(JsonShape.textOf(deep, 12)).toBe('{"]":[{"]":[')
  })

  it("a cycle is too deep, and a value that holds another one many times is read no further than the limit", () => {
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    expect(JsonShape.measure(cycle).isTooDeep).toBe(true)
    let doubled: unknown = "x"
    for (let level = 0; level < 150; level++) doubled = [doubled, doubled]
    const { characters, isTooDeep } = JsonShape.measure(doubled, 10_000)
    expect(isTooDeep).toBe(false)
    expect(characters).toBeGreaterThan(10_000)
    expect(characters).toBeLessThan(10_010)
  })
})
