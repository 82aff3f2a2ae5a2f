import { describe, expect, it } from "@effect/vitest"
import { Option } from "effect"
import * as fc from "fast-check"
import * as Cursor from "../../src/inspection/Cursor.ts"

const position = fc.record({ at: fc.nat({ max: 2 ** 45 }), number: fc.nat({ max: 2 ** 45 }) })

describe("a cursor", () => {
  it("rule X15: leads back to its position, for its own filter alone", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), position, (query, other, position) => {
        const cursor = Cursor.encode(query, position)
        expect(cursor).toMatch(/^[\w-]+$/)
        expect(Cursor.decode(query, cursor)).toEqual(Option.some(position))
        if (JSON.stringify(query) !== JSON.stringify(other)) {
          expect(Cursor.decode(other, cursor)).toEqual(Option.none())
        }
      })
    )
  })

  it("rule X15: is refused where it is garbage, whatever that is", () => {
    const query = ["turns"]
    const print: unknown = JSON.parse(Buffer.from(Cursor.encode(query, { at: 0, number: 0 }), "base64url").toString())
    const known = Array.isArray(print) ? print[1] : expect.fail("it has another form")
    const forged = [
      [1, known, -1, 1],
      [1, known, 1, 2 ** 60],
      [1, known, 0.5, 1],
      [1, known, "1", 1],
      [2, known, 1, 1],
      [1, known, 1],
      { at: 1 }
    ]
    for (const one of forged) {
      const text = Buffer.from(JSON.stringify(one)).toString("base64url")
      expect([one, Cursor.decode(query, text)]).toEqual([one, Option.none()])
    }
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.base64String()), (text) => {
        expect(Cursor.decode(query, text)).toEqual(Option.none())
      })
    )
    expect(Cursor.decode(query, "A".repeat(1_000_000))).toEqual(Option.none())
  })
})
