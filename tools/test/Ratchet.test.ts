import { assert, describe, it } from "@effect/vitest"
import * as Ratchet from "../src/Ratchet.ts"

const counts = new Map([
  ["kites", 2],
  ["ropes", 5]
])
const sentence = (name: string, count: number, most: number) => `${name}: ${count} of ${most}`

describe("a record", () => {
  it("allows a count that has not risen", () => {
    assert.deepStrictEqual(Ratchet.problems(counts, { kites: 2, ropes: 6, birds: 1 }, sentence), [])
  })

  it("refuses a count that has risen, and any count without a record", () => {
    assert.deepStrictEqual(Ratchet.problems(counts, { kites: 1 }, sentence), ["kites: 2 of 1", "ropes: 5 of 0"])
  })

  it("falls, never rises, and loses its lines at 0", () => {
    assert.deepStrictEqual(Ratchet.lowered(counts, { ropes: 9, kites: 1, birds: 1 }), { kites: 1, ropes: 5 })
  })
})
