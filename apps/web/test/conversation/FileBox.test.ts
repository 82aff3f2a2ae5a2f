import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, it } from "vitest"
import { FileBox } from "../../src/conversation/FileBox.tsx"

const htmlOf = (file: Parameters<typeof FileBox>[0]["file"]) => renderToStaticMarkup(createElement(FileBox, { file }))

it("an image of a prompt is shown from its bytes", () => {
  expect(htmlOf({ type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "chart.png" })).toContain(
    'src="data:image/png;base64,iVBORw0KGgo="'
  )
})

it("an image of the model is shown, and says whose it is", () => {
  const html = renderToStaticMarkup(
    createElement(FileBox, { file: { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" }, of: "the model" })
  )
  expect(html).toContain('alt="Image of the model: image/png"')
})

it("other bytes are a link that saves them, with their size", () => {
  const html = htmlOf({ type: "file", mediaType: "application/pdf", data: "JVBERi0x", name: "report.pdf" })
  expect(html).toContain('href="data:application/pdf;base64,JVBERi0x" download="report.pdf"')
  expect(html).toContain("6 bytes")
})

it("no address is loaded, and no picture that can have text", () => {
  const link = htmlOf({ type: "file", mediaType: "image/png", url: "https://evil.test/a.png" })
  const svg = htmlOf({ type: "file", mediaType: "image/svg+xml", data: "PHN2Zz4=" })
  for (const html of [link, svg]) expect(html).not.toMatch(/<img|src=/)
})
