import { assert, describe, it } from "@effect/vitest"
import * as ResponseBody from "../../src/classification/ResponseBody.ts"

const bodyOf = (message: string): string => JSON.stringify({ error: { message } })

const messageIn = (text: string): string | undefined => {
  const body = ResponseBody.read(text)
  return body.kind === "envelope" ? body.envelope.message : undefined
}

describe("bodies that come again", () => {
  it("the same body is parsed once, however many calls get it in a row", () => {
    const overloaded = bodyOf("Overloaded")
    assert.strictEqual(ResponseBody.read(overloaded), ResponseBody.read(bodyOf("Overloaded")))
    assert.deepStrictEqual(
      [messageIn(overloaded), messageIn(bodyOf("Too many requests")), messageIn(overloaded)],
      ["Overloaded", "Too many requests", "Overloaded"]
    )
  })

  it("a long body is not kept, and does not displace the one that is", () => {
    const short = bodyOf("Overloaded")
    const long = bodyOf("x".repeat(10_000))
    const kept = ResponseBody.read(short)
    assert.notStrictEqual(ResponseBody.read(long), ResponseBody.read(long))
    assert.strictEqual(ResponseBody.read(short), kept)
  })
})
