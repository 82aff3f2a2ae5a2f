/** A framework's file becomes bytes or an address, so that an error about it names the right one. */
import { assert, describe, it } from "vitest"
import { fileOf } from "../../src/bridge/index.ts"

describe("a file", () => {
  it.each([
    [new Uint8Array([0, 1, 2]), { data: "AAEC" }],
    ["AAEC", { data: "AAEC" }],
    ["data:image/png;base64,AAEC", { data: "AAEC" }],
    [new URL("data:image/png;name=a;base64,AAEC"), { data: "AAEC" }],
    [new URL("https://a.example/b.png"), { url: "https://a.example/b.png" }],
    ["http://a.example/b.png", { url: "http://a.example/b.png" }],
    ["data:text/plain,Hi", { url: "data:text/plain,Hi" }]
  ])("that is %s has its bytes as base64, or its address", (data, expected) => {
    assert.deepStrictEqual<unknown>(fileOf({ mediaType: "image/png", data }), {
      type: "file",
      mediaType: "image/png",
      ...expected
    })
  })

  it("has its media type in lower case, without parameters, and its name", () => {
    assert.deepStrictEqual<unknown>(fileOf({ mediaType: "Text/Plain; charset=utf-8", data: "AAEC", name: "a.txt" }), {
      type: "file",
      mediaType: "text/plain",
      name: "a.txt",
      data: "AAEC"
    })
  })
})
