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

  it("ToolServers.V2: has a secret redacted before it is cut: half a secret would not be recognised", () => {
    const conceal = concealing([Redacted.make("hunter2-hunter2")])
    const said = { content: [text(`The password is hunter2-hunter2.`)] }
    assert.notInclude(String(ToolOutput.of(said, 24, conceal).output), "hunter2")
    assert.strictEqual(ToolOutput.of(said, 100, conceal).output, "The password is [redacted].")
  })

  it("names content that is no text, with its size", () => {
    const { output } = ToolOutput.of(
      {
        content: [
          { type: "image", mimeType: "image/png", data: "AAAAAAAA" },
          { type: "resource_link", uri: "file:///a", name: "a", description: "the first" },
          { type: "resource", resource: { uri: "file:///b", text: "b's text" } },
          { type: "resource", resource: { uri: "file:///c", blob: "AAAA" } }
        ]
      },
      1_000
    )
    assert.deepStrictEqual(String(output).split("\n"), [
      "[image: image/png, 6 bytes, which cannot be shown here]",
      "a: file:///a",
      "the first",
      "b's text",
      "[file:///c: binary, 3 bytes, which cannot be shown here]"
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
