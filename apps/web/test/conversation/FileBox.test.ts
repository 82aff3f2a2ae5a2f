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

it("no address is loaded, and no picture that can have text", () => {
  const link = htmlOf({ type: "file", mediaType: "image/png", url: "https://evil.test/a.png" })
  const svg = htmlOf({ type: "file", mediaType: "image/svg+xml", data: "PHN2Zz4=" })
  for (const html of [link, svg]) expect(html).not.toMatch(/<img|src=/)
})
