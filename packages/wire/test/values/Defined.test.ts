import { describe, expect, expectTypeOf, it } from "@effect/vitest"
import { defined } from "../../src/index.ts"

const given: { readonly code: string | undefined; readonly status?: number; readonly isError: boolean } = {
  code: undefined,
  isError: false
}

describe("Defined", () => {
  it("leaves out undefined values and keeps every other value", () => {
    expect(Object.keys(defined({ a: undefined, b: null, c: false, d: 0, e: "" }))).toEqual(["b", "c", "d", "e"])
    expect(Object.keys(defined({}))).toEqual([])
  })

  it("makes a new object and leaves the given one as it was", () => {
    expect(defined(given)).toEqual({ isError: false })
    expect(Object.keys(given)).toEqual(["code", "isError"])
  })

  it("types a value that may be undefined as an exact optional property", () => {
    const kept = defined(given)
    expectTypeOf(kept).toExtend<{ readonly code?: string; readonly status?: number; readonly isError: boolean }>()
    // @ts-expect-error under exactOptionalPropertyTypes an undefined value is no absent one
    const undefinedValue: typeof kept = { code: undefined, isError: false }
    expect(undefinedValue).toHaveProperty("code")
  })
})
