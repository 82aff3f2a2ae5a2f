import { describe, expect, it } from "@effect/vitest"
import { Exit, Schema } from "effect"
import * as Labels from "../src/Labels.ts"

const decode = Schema.decodeUnknownExit(Labels.Labels)

const refusal = (labels: unknown): string => {
  const exit = decode(labels)
  return Exit.isFailure(exit) ? String(exit.cause) : expect.fail("they were taken")
}

describe("labels", () => {
  it("rule X15: are taken up to their bounds", () => {
    const tags = Array.from({ length: Labels.MOST_TAGS }, (_, i) => `team/${i}.a:b+c@d_e-${"x".repeat(20)}`)
    const metadata = { a: "x".repeat(Labels.MOST_METADATA - 8) }
    expect(JSON.stringify(metadata)).toHaveLength(Labels.MOST_METADATA)
    expect(decode({ tags, metadata })).toEqual(Exit.succeed({ tags, metadata }))
    expect(decode({})).toEqual(Exit.succeed({}))
  })

  it("rule X15: are refused beyond them, with what was expected", () => {
    expect(refusal({ metadata: { a: "x".repeat(1_000_000) } })).toContain("16384 at most")
    expect(refusal({ tags: Array.from({ length: 17 }, (_, i) => `t${i}`) })).toContain("16 at most")
    expect(refusal({ tags: ["a", "a"] })).toContain("each tag once")
    for (const tag of ["", "a b", "a,b", "x".repeat(65), "é", "a\0"]) {
      expect([tag, refusal({ tags: [tag] })]).toEqual([tag, expect.stringContaining("1 to 64 letters")])
    }
    for (const metadata of ["text", 1, [], null]) expect(Exit.isFailure(decode({ metadata }))).toBe(true)
    expect(refusal({ metadata: { a: "\0" } })).toContain("U+0000")
  })

  it("rule X15: that a request does not have are absent", () => {
    expect(Labels.among({})).toBe(undefined)
    expect(Labels.among({ tags: [] })).toEqual({ tags: [] })
  })
})
