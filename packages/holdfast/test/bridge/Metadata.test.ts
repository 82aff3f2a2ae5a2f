/** What a provider gives with a part goes back as it came. */
import { assert, describe, it } from "vitest"
import { Metadata } from "../../src/bridge/index.ts"

describe("metadata of a reasoning block", () => {
  it("keeps what several parts of a block have, of every provider", () => {
    const first = { anthropic: { info: { type: "thinking", signature: "s" }, more: 1 } }
    const values = Metadata.merged(Metadata.merged(undefined, first), { anthropic: { other: 2 }, google: { a: 1 } })
    const proof = Metadata.blockProofOf(values, "info")
    assert.deepStrictEqual(proof, { signature: "s", proof: '{"google":{"a":1},"anthropic":{"more":1,"other":2}}' })
    assert.deepStrictEqual<unknown>(Metadata.metadataOf(proof, "info"), values)
    assert.deepStrictEqual(Metadata.blockProofOf({}, "info"), {})
  })

  it("has the signature beside Anthropic's other fields where the framework has it there", () => {
    const values = { anthropic: { more: 1, signature: "s", redactedData: "r" }, openai: { itemId: "i" } }
    const proof = Metadata.blockProofOf(values)
    assert.deepStrictEqual(proof, {
      signature: "s",
      redacted: "r",
      proof: '{"openai":{"itemId":"i"},"anthropic":{"more":1}}'
    })
    assert.deepStrictEqual<unknown>(Metadata.metadataOf(proof), values)
  })
})

describe("metadata of a tool call or a file", () => {
  it("is its proof, whole; none where no provider has any", () => {
    const values = { anthropic: { signature: "s" }, google: {} }
    assert.deepStrictEqual(Metadata.proofOf(values), { proof: '{"anthropic":{"signature":"s"}}' })
    assert.deepStrictEqual(Metadata.proofOf({ google: {} }), {})
  })
})
