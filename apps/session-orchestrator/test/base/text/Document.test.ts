/** Tests sections for a terminal and as Markdown, and rows of cells in columns. */
import { describe, expect, it } from "@effect/vitest"
import * as Document from "../../../src/base/text/Document.ts"

const section: Document.Section = {
  title: "Outages",
  head: ["Endpoint", "Calls"],
  hasHead: true,
  rows: [
    ["a/m", "12"],
    ["longer/m", "3"]
  ],
  notes: [{ text: "1 of *them*", advice: "Set a key, then:", command: "holdfast retry\n--all" }]
}

describe("a document", () => {
  it("has its tables in columns and its commands on lines of their own, for a terminal", () => {
    const lines = Document.lines([section, { title: "Failed:", notes: [{ text: "1 because" }] }])
    const table = "\nOutages\n  ENDPOINT  CALLS\n  a/m       12\n  longer/m  3\n"
    const notes = "  1 of *them*\n    Set a key, then:\n    holdfast retry --all\n\nFailed:\n  1 because"
    expect(lines.join("\n")).toBe(table + notes)
    const { hasHead: _, ...plain } = section
    expect(Document.lines([plain])).not.toContain("  ENDPOINT  CALLS")
  })

  it("has tables, escaped text and blocks of code as Markdown", () => {
    const table = "\n## Outages\n\n| Endpoint | Calls |\n|---|---|\n| a/m | 12 |\n| longer/m | 3 |\n"
    const notes = "- 1 of \\*them\\* Set a key, then:\n\n  ```sh\n  holdfast retry --all\n  ```"
    const failed = { title: "Failed:", notes: [{ text: "1 because" }] }
    expect(Document.markdown([section, failed]).join("\n")).toBe(`${table}${notes}\n\n## Failed:\n\n- 1 because`)
  })

  it("a row is one line, whatever is in its cells", () => {
    const rows = [
      ["openai/m\nopenai/n   42\tok", "1"],
      ["a\u001b[2J\u202e\r", "2"]
    ]
    expect(Document.aligned(rows)).toEqual(["openai/m openai/n   42 ok  1", "a[2J                       2"])
    const uneven = ["||1|aa|b".split("|").slice(1), ["", "2"], ["", "3", "a", "b", "", "c"]]
    expect(Document.aligned(uneven)).toEqual(["  1  aa  b", "  2", "  3  a   b    c"])
  })

  it("numbers are aligned to the right, but for the last column", () => {
    const rows = [
      ["retry", "wait", "since"],
      ["1", "5 s", "5 s"]
    ]
    expect(Document.aligned(rows, true)).toEqual(["retry   wait   since", "    1    5 s   5 s"])
  })
})
