import { assert, it } from "@effect/vitest"
import * as Encoding from "../../../src/transport/http/Encoding.ts"

const decoded = (text: Encoding.Text): string => (typeof text === "string" ? text : new TextDecoder().decode(text))

it("Encoding.E1: an array is encoded once, whatever is encoded between", () => {
  let encoded = 0
  const encode = Encoding.sharing((item: string) => {
    encoded++
    return `${item}\n`
  })
  const [first, second] = [["a", "b"], ["c".repeat(Encoding.LONG)]]
  for (let client = 0; client < 3; client++) {
    assert.strictEqual(encode(first), encode(first))
    assert.strictEqual(encode(second), encode(second))
  }
  assert.strictEqual(encoded, 3)
  assert.strictEqual(decoded(encode(["a", "b"])), "a\nb\n")
})

it("Encoding.E2: a long text is bytes, a short one is a string", () => {
  const encode = Encoding.sharing((item: string) => item)
  const long = "é".repeat(Encoding.LONG)
  assert.instanceOf(encode([long]), Uint8Array)
  assert.strictEqual(decoded(encode([long])), long)
  assert.strictEqual(encode([long.slice(1)]), long.slice(1))
})
