import { assert, it } from "@effect/vitest"
import * as Encoding from "../../../src/http/body/Encoding.ts"

const counting = () => {
  const count = { encoded: 0 }
  const encode = Encoding.sharing((items: ReadonlyArray<string>): Encoding.Text => {
    count.encoded++
    return items.join("\n")
  })
  return { count, encode }
}

it("a long array is encoded once, as bytes, even if others are encoded in between", () => {
  const { count, encode } = counting()
  const [first, second] = [["a", "é".repeat(Encoding.LONG)], ["c".repeat(Encoding.LONG)]]
  const bytes = encode(first)
  assert.instanceOf(bytes, Uint8Array)
  assert.strictEqual(new TextDecoder().decode(Buffer.from(bytes)), first.join("\n"))
  for (let client = 0; client < 3; client++) {
    encode(second)
    assert.strictEqual(encode(first), bytes)
  }
  assert.strictEqual(count.encoded, 2)
})

it("nothing is kept of a short array", () => {
  const { count, encode } = counting()
  const items = ["a", "b"]
  for (let client = 0; client < 3; client++) assert.strictEqual(encode(items), "a\nb")
  assert.strictEqual(count.encoded, 3)
})
