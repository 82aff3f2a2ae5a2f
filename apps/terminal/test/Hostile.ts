/** Texts of a hostile model, for property tests. */
import * as fc from "fast-check"

/** What would move a cursor, set a title, change colours, or reorder text. */
const sequence = fc.constantFrom(
  "\u001b[2J",
  "\u001b[1;1H",
  "\u001b]0;title\u0007",
  "\u001b]8;;https://evil.example\u001b\\",
  "\u001b]52;c;ZXZpbA==\u0007",
  "\u001b[?1049h",
  "\u001b[?2004l",
  "\u009b31m",
  "\u009d0;title\u009c",
  "\u0090q\u009c",
  "\u001bc",
  "\u0007",
  "\b\b\b",
  "\r",
  "\r\n",
  "\t",
  "\u0085",
  "\u2028",
  "\u2029",
  ..."\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
  "\ud83d",
  "\udc68",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "\u2764\ufe0f",
  "日本語",
  "e\u0301\u0302\u0303",
  "\u0000"
)

/** Any text, with such sequences and Markdown among it. */
export const text = fc
  .array(
    fc.oneof(
      sequence,
      fc.string({ maxLength: 12, unit: "binary" }),
      fc.lorem({ maxCount: 5 }),
      fc.constantFrom(
        "\n",
        "\n\n",
        " ",
        "**",
        "__",
        "`",
        "```\n",
        "- ",
        "# ",
        "| a | b |\n|---|---|\n",
        "[x](y)",
        "> ",
        "1. ",
        "*",
        "_",
        "\\"
      )
    ),
    { maxLength: 24, size: "max" }
  )
  .map((parts) => parts.join(""))

/** Characters that no text on the screen may have; a line feed only between lines. Written differently from the tested code. */
export const FORBIDDEN =
  // oxlint-disable-next-line no-control-regex -- none of them may be left.
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u

/** Generated cases: more by `HOLDFAST_MODEL_RUNS`. */
export const RUNS = { numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 150) }
