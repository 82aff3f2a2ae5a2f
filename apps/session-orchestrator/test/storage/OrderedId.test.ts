import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as OrderedId from "../../src/storage/OrderedId.ts"

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The time in an id. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

it("an id is a UUID of version 7 with the time of its creation", () => {
  const before = Date.now()
  const ids = Array.from({ length: 1_000 }, OrderedId.next)
  for (const id of ids) {
    assert.match(id, UUID_7)
    assert.isAtLeast(timeOf(id), before)
    assert.isAtMost(timeOf(id), Date.now())
  }
})

it("O1: ids are ascending, whatever the clock shows, for any number of them in a millisecond", () => {
  const readings = fc.array(fc.record({ nowMs: fc.nat(5), times: fc.constantFrom(1, 2, 3_000) }), { maxLength: 6 })
  fc.assert(
    fc.property(readings, (readings) => {
      const sequence = new OrderedId.OrderedIds()
      const ids = readings.flatMap(({ nowMs, times }) =>
        Array.from({ length: times }, () => sequence.next(1_800_000_000_000 + nowMs))
      )
      assert.isTrue(ids.every((id) => UUID_7.test(id)))
      assert.deepStrictEqual(ids.toSorted(), ids)
      assert.strictEqual(new Set(ids).size, ids.length)
    }),
    { numRuns: 15 }
  )
})

it("O1: 4,096 ids fit into one millisecond, and further ids use the following ones", () => {
  const now = 1_800_000_000_000
  const sequence = new OrderedId.OrderedIds()
  const ids = Array.from({ length: 2 * 4_096 + 1 }, () => sequence.next(now))
  const places = [0, 1, 4_095, 4_096, 8_191, 8_192].map((n) => [
    timeOf(ids[n] ?? "") - now,
    (ids[n] ?? "").slice(15, 18)
  ])
  assert.deepStrictEqual(places, [
    [0, "000"],
    [0, "001"],
    [0, "fff"],
    [1, "000"],
    [1, "fff"],
    [2, "000"]
  ])
  assert.deepStrictEqual(
    [sequence.next(now + 3)].map((id) => [timeOf(id) - now, id.slice(15, 18)]),
    [[3, "000"]]
  )
})
