import { assert, it } from "@effect/vitest"
import * as Encoding from "../../../src/http/body/Encoding.ts"
import { LONG } from "../../../src/session/SharedFrames.ts"

const decoded = (text: Encoding.Text): string => (typeof text === "string" ? text : new TextDecoder().decode(text))

it("Encoding.E1: an array is encoded once, even if others are encoded in between", () => {
  let encoded = 0
  const encode = Encoding.sharing(
    (item: string) => {
      encoded++
      return `${item}\n`
    },
    () => true
  )
  const [first, second] = [["a", "b"], ["c".repeat(LONG)]]
  for (let client = 0; client < 3; client++) {
    assert.strictEqual(decoded(encode(first)), "a\nb\n")
    assert.strictEqual(decoded(encode(second)), `${second[0]}\n`)
  }
  assert.strictEqual(encoded, 3)
})

it("Encoding.E2: a long text is one array of bytes for all clients but the first, a short one is a string", () => {
  const encode = Encoding.sharing(
    (item: string) => item,
    () => true
  )
  const [long, short] = [["é".repeat(LONG)], ["é".repeat(LONG - 1)]]
  assert.strictEqual(encode(long), long[0])
  const bytes = encode(long)
  assert.instanceOf(bytes, Uint8Array)
  assert.strictEqual(decoded(bytes), long[0])
  assert.strictEqual(encode(long), bytes)
  for (let client = 0; client < 3; client++) assert.strictEqual(encode(short), short[0])
})

it("Encoding.E1: nothing is kept of an array that one client gets", () => {
  let encoded = 0
  const items = ["a"]
  const encode = Encoding.sharing(
    (item: string) => `${item}${encoded++}`,
    (candidate) => candidate !== items
  )
  assert.deepStrictEqual([encode(items), encode(items)], ["a0", "a1"])
})
