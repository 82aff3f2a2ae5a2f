import * as fc from "fast-check"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, it } from "vitest"
import { Coloured } from "../../src/conversation/Colours.tsx"

const drawn = (language: string, text: string): string =>
  renderToStaticMarkup(createElement(Coloured, { language, text }))

it("code has colours in its language, by any of its names", () => {
  expect(drawn("ts", 'const a = "b"')).toBe(
    '<span class="hljs-keyword">const</span> a = <span class="hljs-string">&quot;b&quot;</span>'
  )
  expect(drawn("yml", "a: 1")).toContain("hljs-number")
  expect(drawn("unheard-of", "const <b>")).toBe("const &lt;b&gt;")
})

it("colours change no character of a code, and add nothing but elements with classes", () => {
  const piece = fc.constantFrom("<script>", "</script>", "const ", '"', "`${", "#", "\n", "/*", "&amp;", "style=x", "é")
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 20, size: "max" }).map((all) => all.join(""))
  )
  const language = fc.constantFrom("ts", "js", "xml", "html", "bash", "diff", "python", "json", "css", "sql", "none")
  fc.assert(
    fc.property(language, text, (language, text) => {
      const markup = drawn(language, text)
      const bare = markup.replaceAll(/<span class="[\w -]*">|<\/span>/g, "")
      expect(bare).toBe(renderToStaticMarkup(text))
    })
  )
})
