import { assert, describe, it } from "@effect/vitest"
import * as LlmsText from "../src/LlmsText.ts"

const README = "# Kite\n\n```sh\nfly. now\n```\n\n**It flies.** It [lands](a.md) too.\n"

describe("llms.txt", () => {
  it("begins with the README's title and first paragraph, and has a page's first sentence a line", () => {
    const text = LlmsText.make(README, {
      Docs: [{ path: "docs/wind.md", text: "# Wind\n\n![a](b.png)\n\nIt [blows](c.md#d)\nfrom 0.5 m/s on. Here.\n" }]
    })
    assert.strictEqual(
      text,
      "# Kite\n\n> It flies. It lands too.\n\n## Docs\n\n- [Wind](docs/wind.md): It blows from 0.5 m/s on.\n"
    )
  })

  it("passes over code, tables, pictures and comments", () => {
    assert.strictEqual(
      LlmsText.firstParagraph("# A\n\n<!-- x -->\n\n| a. |\n|---|\n\n```\nb.\n```\n\nThe end"),
      "The end"
    )
  })
})
