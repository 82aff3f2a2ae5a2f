import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Foreign from "../src/text/Foreign.ts"
import * as Line from "../src/text/Line.ts"
import * as Markdown from "../src/text/Markdown.ts"
import * as Width from "../src/text/Width.ts"
import * as Hostile from "./Hostile.ts"

const width = fc.integer({ min: 20, max: 100 })

const joined = (lines: ReadonlyArray<Line.Line>): string => lines.map(Line.textOf).join("\n")

describe("Foreign", () => {
  it("no foreign text keeps a character that a terminal would obey", () => {
    fc.assert(
      fc.property(Hostile.text, (text) => {
        const shown = Foreign.shown(text)
        expect(shown).not.toMatch(Hostile.FORBIDDEN)
        expect(Foreign.shown(shown)).toBe(shown)
        expect(Foreign.oneLine(text)).not.toMatch(/\n/)
      }),
      Hostile.RUNS
    )
  })

  it("printable text stays as it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        fc.pre(!Hostile.FORBIDDEN.test(text))
        expect(Foreign.shown(text)).toBe(text)
      })
    )
    expect(Foreign.shown("a\tb\r\nc\rd\u202ee")).toBe("a    b\nc\nde")
  })
})

describe("Line", () => {
  it("no wrapped line is wider than its width, and nothing is lost but blanks", () => {
    fc.assert(
      fc.property(Hostile.text, width, (text, width) => {
        const lines = Line.wrap([{ text: Foreign.oneLine(text) }], width, {
          first: [{ text: "- " }],
          rest: [{ text: "  " }]
        })
        for (const line of lines) expect(Line.widthOf(line)).toBeLessThanOrEqual(width)
        const letters = lines.map((line) => Line.textOf(line).slice(2)).join("")
        expect(letters.replaceAll(" ", "")).toBe(Foreign.oneLine(text).replaceAll(" ", ""))
      }),
      Hostile.RUNS
    )
  })

  it("breaks at blanks, and keeps the letters of one word together over styles", () => {
    expect(joined(Line.wrap([{ text: "one " }, { text: "two", bold: true }, { text: ", three" }], 9))).toBe(
      "one two,\nthree"
    )
    expect(joined(Line.wrap([{ text: "abcdefghij" }], 4))).toBe("abcd\nefgh\nij")
    expect(joined(Line.cut("a  b", {}, 3))).toBe("a  \nb")
    expect(Line.clip("abcdef", 4)).toBe("abc…")
  })

  it("a text is counted at least as wide as its clusters show", () => {
    expect(Width.of("abc")).toBe(3)
    expect(Width.of("日本")).toBe(4)
    expect(Width.of("e\u0301")).toBe(1)
    expect(Width.of("\u{1f468}\u200d\u{1f469}")).toBe(4)
    expect(Width.clusters("\u{1f468}\u200d\u{1f469}")).toHaveLength(1)
    expect(Width.clusters("\u{1f468}\u200d".repeat(50)).every((cluster) => Width.of(cluster) <= 8)).toBe(true)
  })
})

describe("Markdown", () => {
  it("any text is laid out within the width, without a character that a terminal would obey", () => {
    fc.assert(
      fc.property(Hostile.text, width, (text, width) => {
        for (const line of Markdown.lines(Foreign.shown(text), width)) {
          expect(Line.widthOf(line)).toBeLessThanOrEqual(width)
          expect(Line.textOf(line)).not.toMatch(/\n/)
          expect(Line.textOf(line)).not.toMatch(Hostile.FORBIDDEN)
        }
      }),
      Hostile.RUNS
    )
  })

  it("no letter is lost, however a text breaks off", () => {
    const letters = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]/gu, "")
    fc.assert(
      fc.property(Hostile.text, fc.nat(), (text, at) => {
        const whole = Foreign.shown(text)
        const begun = whole.slice(0, at % (whole.length + 1)).toWellFormed()
        // A list's bullet and a link's brackets are no letters.
        expect(letters(joined(Markdown.lines(begun, 400)))).toBe(letters(begun))
      }),
      Hostile.RUNS
    )
  })

  it("the end of a long text begins with a row, and code stays code", () => {
    expect(Markdown.ending("short", 10)).toBe("short")
    expect(Markdown.ending("one\ntwo\nthree", 6)).toBe("three")
    expect(Markdown.ending("```\na = 1\nb = 2\n", 8)).toBe("```\nb = 2\n")
    expect(Markdown.ending("x".repeat(20), 5)).toBe("xxxxx")
  })

  it("lays out headings, lists, code, tables and links", () => {
    const lines = Markdown.lines(
      [
        "# Title",
        "- **bold** and `code`",
        "  1. nested",
        "> quoted",
        "```ts",
        "const a = 1",
        "```",
        "| a | long |",
        "|---|---|",
        "| x | y |",
        "[docs](https://e.org) snake_case_name 2 * 3 * 4"
      ].join("\n"),
      60
    )
    expect(lines.map(Line.textOf)).toEqual([
      "Title",
      "• bold and code",
      "  1. nested",
      "│ quoted",
      "  ts",
      "  const a = 1",
      "a  long",
      "─  ────",
      "x  y",
      "docs (https://e.org) snake_case_name 2 * 3 * 4"
    ])
    expect(lines[1]).toContainEqual({ text: "bold", bold: true })
    expect(lines[1]).toContainEqual({ text: "code", color: "cyan" })
  })
})
