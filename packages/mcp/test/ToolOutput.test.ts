import { concealing } from "../testing/index.ts"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { Redacted } from "effect"
import * as ToolOutput from "../src/ToolOutput.ts"

const text = (text: string) => ({ type: "text", text }) as const

describe("a tool's result for the model", () => {
  it("is its text, block by block", () => {
    assert.deepStrictEqual(ToolOutput.of({ content: [text("one"), text("two")] }, 1_000), {
      output: "one\ntwo",
      isError: false
    })
    assert.deepStrictEqual(ToolOutput.of({ content: [text("no")], isError: true }, 1_000), {
      output: "no",
      isError: true
    })
  })

  it("is its structured result if there is nothing else", () => {
    assert.strictEqual(ToolOutput.of({ content: [], structuredContent: { n: 1 } }, 1_000).output, '{"n":1}')
    assert.strictEqual(ToolOutput.of({ content: [text("1")], structuredContent: { n: 1 } }, 1_000).output, "1")
  })

  it("has a secret redacted before it is cut: half a secret would not be recognised", () => {
    const conceal = concealing([Redacted.make("hunter2-hunter2")])
    const said = { content: [text(`The password is hunter2-hunter2.`)] }
    assert.notInclude(String(ToolOutput.of(said, 24, conceal).output), "hunter2")
    assert.strictEqual(ToolOutput.of(said, 100, conceal).output, "The password is [redacted].")
  })

  it("has pictures, sound and binary resources as files, in their places, and their placeholders in its text", () => {
    const { content, output } = ToolOutput.of(
      {
        content: [
          text("The page:"),
          { type: "image", mimeType: "image/PNG; charset=binary", data: "AAAAAAAA" },
          { type: "resource_link", uri: "file:///a", name: "a", description: "the first" },
          { type: "resource", resource: { uri: "file:///b", text: "b's text" } },
          { type: "resource", resource: { uri: "file:///c/d.pdf", mimeType: "application/pdf", blob: "AAAA" } },
          { type: "resource", resource: { uri: "file:///c", blob: "AAAA" } },
          { type: "audio", mimeType: "audio/wav", data: "AAAA" }
        ]
      },
      1_000
    )
    assert.deepStrictEqual(content, [
      text("The page:"),
      { type: "file", mediaType: "image/png", data: "AAAAAAAA" },
      text("a: file:///a\nthe first"),
      text("b's text"),
      { type: "file", mediaType: "application/pdf", data: "AAAA", name: "d.pdf" },
      { type: "file", mediaType: "application/octet-stream", data: "AAAA", name: "c" },
      { type: "file", mediaType: "audio/wav", data: "AAAA" }
    ])
    assert.deepStrictEqual(String(output).split("\n"), [
      "The page:",
      "[image image/png 6 bytes]",
      "a: file:///a",
      "the first",
      "b's text",
      "[file application/pdf 3 bytes d.pdf]",
      "[file application/octet-stream 3 bytes c]",
      "[audio audio/wav 3 bytes]"
    ])
  })

  it("names a picture that cannot be read, with its type and size", () => {
    const broken = { type: "image", mimeType: "image/png", data: "no base64" } as const
    assert.deepStrictEqual(ToolOutput.of({ content: [broken, { ...broken, mimeType: "?", data: "AAAA" }] }, 1_000), {
      output: "[image: image/png, 6 bytes, which cannot be read]\n[image: ?, 3 bytes, which cannot be read]",
      isError: false
    })
  })

  it("has its texts within the limit, all together, beside its files", () => {
    const conceal = concealing([Redacted.make("hunter2-hunter2")])
    const image = { type: "image", mimeType: "image/png", data: "AAAAAAAA" } as const
    const { content } = ToolOutput.of(
      { content: [text("hunter2-hunter2"), image, text("abcdef"), image, text("behind")] },
      13,
      conceal
    )
    const file = { type: "file", mediaType: "image/png", data: "AAAAAAAA" }
    assert.deepStrictEqual<unknown>(content, [
      text("[redacted]"),
      file,
      text("abc\n[Holdfast cut this output: it has 6 bytes, and the first 3 are above.]"),
      file
    ])
  })

  it("is cut at the limit with a notice, and never within a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), fc.integer({ min: 0, max: 300 }), (text, most) => {
        const whole = Buffer.from(text).toString("utf8")
        const cut = ToolOutput.cut(whole, most)
        const bytes = Buffer.byteLength(whole)
        if (bytes <= most) return assert.strictEqual(cut, whole)
        const kept = cut.slice(0, cut.lastIndexOf("\n["))
        assert.isTrue(whole.startsWith(kept))
        assert.isAtMost(Buffer.byteLength(kept), most)
        assert.isAbove(Buffer.byteLength(kept), most - 4)
        assert.include(cut, `${bytes} bytes`)
      })
    )
  })
})
