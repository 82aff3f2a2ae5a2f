import * as fc from "fast-check"
import type { Construct } from "micromark-util-types"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import ReactMarkdown from "react-markdown"
import temml from "temml"
import { expect, it } from "vitest"
import * as Blocks from "../../src/conversation/Blocks.ts"
import * as Formulas from "../../src/conversation/Formulas.ts"
import { Markdown, MarkdownInProgress } from "../../src/conversation/Markdown.tsx"
import { SETTINGS } from "../../src/conversation/MathMl.ts"

const PLACE = /<span class="formula( display)?"(?: aria-busy="(\w+)")?[^>]*>([^<]*)/g

const unescaped = (text: string): string =>
  text
    .replaceAll("&gt;", ">")
    .replaceAll("&lt;", "<")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&amp;", "&")

/** The formulas of a text, by their sources, and whether each has a line of its own. */
const formulasOf = (text: string, component = Markdown): ReadonlyArray<readonly [string, boolean]> =>
  [...renderToStaticMarkup(createElement(component, { text })).matchAll(PLACE)].map(([, display, , source = ""]) => [
    unescaped(source),
    display !== undefined
  ])

it("formulas have dollars, parentheses or brackets", () => {
  expect(formulasOf("With $x^2_a$ and \\(y*z*\\), so $$a$$ or \\[b\\].")).toEqual([
    ["$x^2_a$", false],
    ["\\(y*z*\\)", false],
    ["$$a$$", true],
    ["\\[b\\]", true]
  ])
})

it("an amount of money with words behind it is none", () => {
  expect(
    formulasOf("It costs $5, i.e. 5$. Or $20 more or 7$, but $5 + x$ and $3 cm$ and $1, x, x^2$ and $2 n + 1$")
  ).toEqual([
    ["$5 + x$", false],
    ["$3 cm$", false],
    ["$1, x, x^2$", false],
    ["$2 n + 1$", false]
  ])
})

it("formulas without their ends are searched once for each kind of end", () => {
  let consumed = 0
  const counted: typeof Formulas.inLines = function (options) {
    Formulas.inLines.call(this, options)
    const { micromarkExtensions } = this.data() as { micromarkExtensions: Array<{ text: Record<number, Construct> }> }
    for (const { text } of micromarkExtensions) {
      for (const [code, construct] of Object.entries(text)) {
        text[Number(code)] = {
          ...construct,
          tokenize(effects, ok, nok) {
            const consume: typeof effects.consume = (code) => {
              consumed++
              effects.consume(code)
            }
            return construct.tokenize.call(this, { ...effects, consume }, ok, nok)
          }
        }
      }
    }
  }
  for (const mark of ["\\( a ", "\\[ a "]) {
    consumed = 0
    const children = mark.repeat(1_000)
    renderToStaticMarkup(createElement(ReactMarkdown, { children, remarkPlugins: [[counted, { isArriving: false }]] }))
    expect(consumed).toBeGreaterThan(children.length - mark.length)
    expect(consumed).toBeLessThan(2 * children.length)
  }
})

it("a formula of several lines is one, whatever its lines begin with", () => {
  for (const [first, last] of [
    ["$$", "$$"],
    ["\\[", "\\]"],
    ["\\[ a", "b \\]"],
    ["$$\\begin{aligned}", "\\end{aligned}$$"]
  ]) {
    const formula = `${first}\n- b\n\n> c\n===\n${last}`
    expect(formulasOf(`Before:\n${formula}\nBehind.`)).toEqual([[formula, true]])
    expect(formulasOf(`- Before:\n  ${formula.replaceAll("\n", "\n  ")}\n- Behind.`).map(([, own]) => own)).toEqual([
      true
    ])
    expect(formulasOf(`> Quoted:\n> ${formula.replaceAll("\n", "\n> ")}`)).toEqual([[formula, true]])
  }
  expect(renderToStaticMarkup(createElement(Markdown, { text: "$$\na\n$$ with **b**" }))).toContain(
    "<strong>b</strong>"
  )
})

it("a formula that begins an entry of a list, and goes on in its next lines, is one", () => {
  for (const [first, last] of [
    ["$$", "$$"],
    ["\\[", "\\]"]
  ]) {
    expect(formulasOf(`- ${first}\n  a\n  ${last}\n- Behind.`)).toEqual([[`${first} a ${last}`, true]])
    expect(formulasOf(`1. So \\(a\n   = b\\) and ${first}c\n   ${last}.`)).toEqual([
      ["\\(a = b\\)", false],
      [`${first}c ${last}`, true]
    ])
  }
  expect(formulasOf("> So \\(a\n> = b\\).")).toEqual([["\\(a = b\\)", false]])
})

it("no text is one that cannot be shown", () => {
  const marks = [
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "\\",
    "`",
    "*",
    "[",
    "](x)",
    "|",
    "|-|",
    "a",
    " ",
    "\t",
    "é",
    "😀"
  ]
  const lines = ["\n", "\r\n", "\r", "\n  ", "\n   ", "\n    ", "\n\n", "- ", "> ", "1. ", "# ", "===", "~~~", "[^1]: "]
  const text = fc
    .array(fc.constantFrom(...marks, ...lines), { maxLength: 24, size: "max" })
    .map((pieces) => pieces.join(""))
  fc.assert(
    fc.property(text, (text) => {
      for (const component of [Markdown, MarkdownInProgress]) renderToStaticMarkup(createElement(component, { text }))
    }),
    { numRuns: 300 }
  )
})

it("the code of a spreadsheet's formula stays code", () => {
  const text = "```formula\n=SUM(A1:A3)\n```"
  expect(formulasOf(text)).toEqual([])
  expect(renderToStaticMarkup(createElement(Markdown, { text }))).toContain("=SUM(A1:A3)")
})

it("prices, variables and code are no formulas", () => {
  for (const text of [
    "It costs $5, or $50 a year.",
    "Between $5-$10.",
    "Set $HOME/$USER and $PATH.",
    "`$x$` and `\\(y\\)`",
    "```\n$$\nx\n$$\n```",
    "$$ is the number of the process.\n\nAnd $? its end.",
    "\\$x\\$",
    "A lone \\[ and\n\n\\[\n\nnever an end"
  ])
    expect([text, formulasOf(text)]).toEqual([text, []])
  expect(formulasOf("It costs $5 for $x$.")).toEqual([["$x$", false]])
})

it("half a formula is text until its end has come", () => {
  const text = "So $$\\frac{a}{b}$$, then:\n\n\\[\nx_1 + x_2\n\n= 3\n\\]\n\nand $y$ end"
  const seen = Array.from({ length: text.length + 1 }, (_, end) =>
    renderToStaticMarkup(createElement(MarkdownInProgress, { text: text.slice(0, end) }))
  )
  const whole = new Set(["$$\\frac{a}{b}$$", "\\[\nx_1 + x_2\n\n= 3\n\\]", "$y$"])
  let most = 0
  for (const html of seen) {
    const drawn = [...html.matchAll(PLACE)].flatMap(([, , isBusy, source = ""]) => (isBusy === "true" ? [] : [source]))
    expect(drawn.filter((source) => !whole.has(source))).toEqual([])
    // What is drawn stays drawn.
    expect(drawn.length).toBeGreaterThanOrEqual(most)
    most = drawn.length
    // Lines of half a formula are no Markdown.
    expect(html).not.toMatch(/<h3|<em>/)
  }
  expect(most).toBe(3)
})

it("a formula is cut into no blocks", () => {
  expect(Blocks.split("a\n\n\\[\nb\n\nc\n\\]\n\nd\n\n")).toEqual(["a\n\n", "\\[\nb\n\nc\n\\]\n\n", "d\n\n"])
})

/** Pieces of a formula, hostile ones among them. */
const tex = fc
  .array(
    fc.constantFrom(
      "\\href{javascript:alert(1)}{x}",
      "\\url{https://evil.test}",
      "\\includegraphics{https://evil.test/a.png}",
      "\\class{danger}{x}",
      "\\id{page}{x}",
      "\\style{background:url(https://evil.test)}{x}",
      "\\data{a=b}{x}",
      "\\textcolor{url(https://evil.test)}{x}",
      "\\textcolor{#fff}{x}",
      "\\text{<script>alert(1)</script>}",
      "\\rule{900em}{900em}",
      "\\frac{a}{b}",
      "\\mathbb{R}",
      "\\def\\a{\\a\\a}\\a",
      "{",
      "}",
      "\\",
      "^",
      "&",
      "<img src=x>"
    ),
    { maxLength: 6 }
  )
  .map((pieces) => pieces.join(" "))

it("a hostile formula is refused, or has nothing that loads, links or names", () => {
  fc.assert(
    fc.property(tex, (tex) => {
      let html: string
      try {
        html = temml.renderToString(tex, SETTINGS)
      } catch {
        return
      }
      for (const [, tag = "", attributes = ""] of html.matchAll(/<(\w+)([^>]*)>/g)) {
        expect(tag).toMatch(/^(?:m\w+|math|span)$/)
        expect(attributes).not.toMatch(/\b(?:href|src|id|on\w+)=|url\(/)
      }
    }),
    { numRuns: 300 }
  )
})
