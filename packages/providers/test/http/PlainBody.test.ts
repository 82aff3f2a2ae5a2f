import { describe, expect, it } from "vitest"
import * as PlainBody from "../../src/http/PlainBody.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const kindOf = (...reads: ReadonlyArray<string>) => PlainBody.kindOf(reads.map(bytes))

describe("the first bytes of a response", () => {
  it("rule C3: distinguish a page, a JSON document and a stream, after any blanks and a byte order mark", () => {
    for (const blank of ["", " ", "\t", "\n", "\r", "\r\n \t", "\uFEFF", "\uFEFF\n"]) {
      expect(kindOf(blank), JSON.stringify(blank)).toBe("blank")
      for (const [text, kind] of [
        ["<html>", "page"],
        ['{"a":1}', "json"],
        ["[1]", "json"],
        ["data: {}", "stream"],
        [": <", "stream"],
        ["0", "stream"]
      ] as const) {
        expect(kindOf(blank + text)).toBe(kind)
        expect(kindOf(blank, text)).toBe(kind)
      }
    }
    expect(kindOf()).toBe("blank")
  })
})
