/** Tests rows of cells in columns. */
import { expect, it } from "@effect/vitest"
import * as Document from "../../src/text/Document.ts"

it("a row is one line, whatever is in its cells", () => {
  const rows = [
    ["openai/m\nopenai/n   42\tok", "1"],
    ["a\u001b[2J\u202e\r", "2"]
  ]
  expect(Document.aligned(rows)).toEqual(["openai/m openai/n   42 ok  1", "a[2J                       2"])
})
