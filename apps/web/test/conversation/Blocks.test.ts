import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Blocks from "../../src/conversation/Blocks.ts"

/** Lines that matter to Markdown. */
const line = fc.constantFrom("text", "", "", "- item", "  more", "```", "```ts", "~~~~", "    code", "# head", "1. one")
const text = fc.array(line, { maxLength: 30, size: "max" }).map((lines) => lines.join("\n"))

it("blocks joined are the text", () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(Blocks.split(given).join("")).toBe(given)
    })
  )
})

it("a text that grows keeps its blocks, except for the last one", () => {
  fc.assert(
    fc.property(text, text, (given, added) => {
      const before = Blocks.split(given).slice(0, -1)
      expect(Blocks.split(given + added).slice(0, before.length)).toEqual(before)
    })
  )
})

it("code and the entries of a list are not cut", () => {
  expect(Blocks.split("a\n\nb\n\n")).toEqual(["a\n\n", "b\n\n"])
  expect(Blocks.split("```\na\n\nb\n```\n")).toHaveLength(1)
  expect(Blocks.split("- a\n\n  more of a\n")).toHaveLength(1)
})

it("a text that grows keeps its groups, and they are those of the whole text", () => {
  const piece = fc.constantFrom("a\n", "\n", "- item\n", "```\n", "  more\n", "# Head\n", "text", " ")
  fc.assert(
    fc.property(fc.array(fc.array(piece, { maxLength: 30, size: "max" }), { maxLength: 12, size: "max" }), (reads) => {
      let grouped = Blocks.none
      let text = ""
      for (const pieces of reads) {
        text += pieces.join("")
        const next = Blocks.grouped(grouped, text)
        for (const [index, group] of grouped.groups.slice(0, -1).entries())
          if (text !== grouped.text) expect(next.groups[index]).toBe(group)
        expect(next.groups.flat()).toEqual(Blocks.split(text))
        grouped = next
      }
      expect(Blocks.grouped(grouped, "other").groups).toEqual([["other"]])
    })
  )
})
