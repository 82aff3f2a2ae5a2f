import { describe, expect, it } from "@effect/vitest"
import { CliOutput } from "effect/cli"
import * as fc from "fast-check"
import * as Prose from "../../../src/base/text/Prose.ts"
import * as Law from "../../Law.ts"

const text = fc.oneof(fc.string({ maxLength: 200, unit: "grapheme" }), fc.lorem({ maxCount: 30 }))

/** All of them, one by one. */
const control = fc.constantFrom(
  ..."\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029",
  ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)),
  ...Array.from({ length: 33 }, (_, code) => String.fromCharCode(127 + code)),
  "\u001b[2J",
  "\u001b]0;title\u0007",
  "\u009b31m"
)

/** Written differently from the tested code: ranges, and no names of properties. */
// oxlint-disable-next-line no-control-regex -- none of them may be left.
const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

describe("Prose", () => {
  it("no line is wider than the limit, and there are no more lines than the limit", () =>
    Law.holds([text, fc.integer({ min: 4, max: 80 }), fc.integer({ min: 1, max: 4 })], (text, width, most) => {
      const lines = Prose.wrap(text, width, most)
      expect(lines.length).toBeLessThanOrEqual(most)
      for (const line of lines) expect(CliOutput.displayWidth(line)).toBeLessThanOrEqual(width)
    }))

  it("a message has its code once", () => {
    expect(Prose.coded("529", "Overloaded")).toBe("529 Overloaded")
    expect(Prose.coded(undefined, "Overloaded")).toBe("Overloaded")
    expect(Prose.coded("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:9")).toBe("connect ECONNREFUSED 127.0.0.1:9")
    expect(Prose.coded("52", "529 was seen")).toBe("529 was seen")
    expect(Prose.coded("29", "529 was seen")).toBe("29 529 was seen")
  })

  it("with enough room nothing is lost", () =>
    Law.holds(
      [fc.lorem({ maxCount: 30 }), fc.integer({ min: 20, max: 80 })],
      (text, width) => void expect(Prose.wrap(text, width, 1000).join(" ")).toBe(Prose.oneLine(text))
    ))

  it("a cut is marked", () => {
    expect(Prose.wrap("one two three four", 9, 1)).toEqual(["one two…"])
    expect(Prose.wrap("one two three four", 9, 2)).toEqual(["one two", "three fo…"])
  })

  it("a word that is wider than a line is cut at the end of the line", () => {
    expect(Prose.wrap("abcdefghi", 4, 9)).toEqual(["abcd", "efgh", "i"])
    expect(Prose.wrap("ab cdefghij", 4, 9)).toEqual(["ab", "cdef", "ghij"])
    expect(Prose.wrap("\u{1f600}\u{1f600}\u{1f600}", 4, 9)).toEqual(["\u{1f600}\u{1f600}", "\u{1f600}"])
    expect([Prose.wrap("abc", 0, 9), Prose.wrap("", 4, 9)]).toEqual([["ab", "c"], []])
  })

  it("is clipped to a width, with a mark if it was cut", () => {
    expect([Prose.clip("abcd", 4), Prose.clip("abcde", 4), Prose.clip("ab cde", 4)]).toEqual(["abcd", "abc…", "ab…"])
    expect([Prose.clip("a\u{1f600}bc", 4), Prose.clip("文字文", 4)]).toEqual(["a\u{1f600}…", "文…"])
  })

  it("a message cannot move the cursor, change colours or set a title", () => {
    const nasty = "a\u001b[2Jb\u001b]0;title\u0007c\u009b31md\r\ne\u0000f\tg"
    expect(Prose.oneLine(nasty)).toMatch(/^[ -~]*$/)
    // oxlint-disable-next-line no-control-regex -- none of them may be left.
    expect(Prose.harmless(nasty)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    expect(Prose.harmless("two\nlines\tand a tab")).toBe("two\nlines\tand a tab")
  })

  it("no text from outside keeps a control character in any form", () =>
    Law.holds([fc.array(fc.oneof(text, control), { maxLength: 20, size: "max" }), fc.nat(80)], (parts, width) => {
      const given = parts.join("")
      for (const cleaned of [
        Prose.harmless(given),
        Prose.plain(given),
        Prose.oneLine(given),
        ...Prose.wrap(given, width, 3),
        Prose.inJson(JSON.stringify({ [given]: given }))
      ]) {
        expect(cleaned).not.toMatch(FORBIDDEN)
      }
    }))

  it("JSON keeps its value", () =>
    Law.holds([fc.array(fc.oneof(text, control))], (parts) => {
      const value = { [parts.join("")]: parts }
      expect(JSON.parse(Prose.inJson(JSON.stringify(value, null, 2)))).toEqual(value)
    }))

  it("the reading order of a line cannot be reversed", () => {
    expect(Prose.oneLine("invoice_\u202Efdp.exe")).toBe("invoice_fdp.exe")
    expect(Prose.oneLine("\u2066a\u2069 b\u200f\u061c c\u2028d\u2029e")).toBe("a b c d e")
    expect(Prose.inJson('{"a":"\u202e\u009b"}')).toBe('{"a":"\\u202e\\u009b"}')
    // The joiners of languages and emoji stay.
    expect(Prose.harmless("\u05d0\u0628 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻")).toBe(
      "\u05d0\u0628 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻"
    )
  })
})
