import { describe, expect, it } from "@effect/vitest"
import { CliOutput } from "effect/cli"
import * as fc from "fast-check"
import * as Prose from "../../src/text/Prose.ts"

const text = fc.oneof(fc.string({ maxLength: 200, unit: "grapheme" }), fc.lorem({ maxCount: 30 }))

describe("Prose", () => {
  it("no line is wider than it may be, and there are no more than there may be", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 80 }), fc.integer({ min: 1, max: 4 }), (text, width, most) => {
        const lines = Prose.wrap(text, width, most)
        expect(lines.length).toBeLessThanOrEqual(most)
        for (const line of lines) expect(CliOutput.displayWidth(line)).toBeLessThanOrEqual(width)
      })
    )
  })

  it("with room enough nothing is lost", () => {
    fc.assert(
      fc.property(fc.lorem({ maxCount: 30 }), fc.integer({ min: 20, max: 80 }), (text, width) => {
        expect(Prose.wrap(text, width, 1000).join(" ")).toBe(Prose.oneLine(text))
      })
    )
  })

  it("what is left out is marked", () => {
    expect(Prose.wrap("one two three four", 9, 1)).toEqual(["one two…"])
    expect(Prose.wrap("one two three four", 9, 2)).toEqual(["one two", "three fo…"])
  })

  it("a message cannot move the cursor, change colours or set a title", () => {
    const nasty = "a\u001b[2Jb\u001b]0;title\u0007c\u009b31md\r\ne\u0000f\tg"
    expect(Prose.oneLine(nasty)).toMatch(/^[ -~]*$/)
    // oxlint-disable-next-line no-control-regex -- none of them may be left.
    expect(Prose.harmless(nasty)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    expect(Prose.harmless("two\nlines\tand a tab")).toBe("two\nlines\tand a tab")
  })
})
