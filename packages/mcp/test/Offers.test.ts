import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Offers from "../src/Offers.ts"

const offer = (name: string, description?: string): Offers.Offer => ({
  name,
  description,
  inputSchema: { type: "object" }
})

/** A number of tools of about a size; the largest exceed the limit of one tool. */
const lists = fc
  .array(fc.nat(Offers.MAX_DEFINITION_BYTES + 1_000), { maxLength: 400, size: "max" })
  .map((sizes) => sizes.map((size, n) => offer(`t${n}`, "x".repeat(size))))

const deep = (levels: number): Offers.Offer["inputSchema"] =>
  JSON.parse('{"a":'.repeat(levels) + "1" + "}".repeat(levels))

describe("the tools of a server", () => {
  it("are offered within the limits of number and size, in order, and the others are named", () =>
    fc.assert(
      fc.property(lists, (offers) => {
        const selection = Offers.select(offers)
        const { kept, leftOut } = selection
        const sizes = kept.map(Offers.sizeOf)
        assert.isAtMost(kept.length, Offers.MAX_TOOLS)
        assert.isAtMost(Math.max(0, ...sizes), Offers.MAX_DEFINITION_BYTES)
        assert.isAtMost(
          sizes.reduce((sum, size) => sum + size, 0),
          Offers.MAX_DEFINITIONS_BYTES
        )
        const names = kept.map(({ name }) => name)
        assert.deepStrictEqual(
          offers.map(({ name }) => name).filter((name) => !leftOut.includes(name)),
          names
        )
        assert.strictEqual(kept.length + leftOut.length, offers.length)
        assert.strictEqual(Offers.warningOf("s", selection, false) === undefined, leftOut.length === 0)
      })
    ))

  it("are all offered up to the limits, and the first one beyond them is not", () => {
    const most = Array.from({ length: Offers.MAX_TOOLS }, (_, n) => offer(`t${n}`))
    assert.deepStrictEqual(Offers.select(most).kept, most)
    assert.deepStrictEqual(Offers.select([...most, offer("one more")]).leftOut, ["one more"])
    const largest = offer("a", "x".repeat(Offers.MAX_DEFINITION_BYTES - Offers.sizeOf(offer("a", ""))))
    assert.deepStrictEqual(Offers.select([largest]).kept, [largest])
    assert.deepStrictEqual(Offers.select([{ ...largest, name: "ab" }]).leftOut, ["ab"])
    const full = Array.from({ length: Offers.MAX_DEFINITIONS_BYTES / Offers.MAX_DEFINITION_BYTES }, () => largest)
    assert.deepStrictEqual(Offers.select(full).kept, full)
    assert.deepStrictEqual(Offers.select([...full, offer("b")]).leftOut, ["b"])
  })

  it("that are nested too deeply to be written are left out", () => {
    assert.deepStrictEqual(Offers.select([{ ...offer("a"), inputSchema: deep(100_000) }, offer("b")]).leftOut, ["a"])
  })

  it("that are left out are named in a warning, the first of them", () => {
    const selection = Offers.select(Array.from({ length: 300 }, (_, n) => offer(`t${n}`)))
    const warning = Offers.warningOf("files", selection, false)
    assert.include(warning, "256 of its tools are offered")
    assert.include(warning, "(at most 256, of 32 KiB each and 256 KiB together)")
    assert.include(warning, "Left out: t256, t257")
    assert.include(warning, "34 more. Choose with tools.files.allow and tools.files.deny.")
    assert.include(Offers.warningOf("files", Offers.select([]), true), "the rest of its list")
    const long = Offers.select([{ ...offer(`${"n".repeat(64)}!`), inputSchema: deep(100_000) }])
    assert.include(Offers.warningOf("files", long, false), `Left out: ${"n".repeat(64)}. Choose`)
  })
})
