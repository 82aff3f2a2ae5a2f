import { assert, it } from "@effect/vitest"
import * as NewId from "../../src/storage/NewId.ts"

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The time in an id. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

it("an id is a UUID of version 7 with the time of its creation", () => {
  const before = Date.now()
  const ids = Array.from({ length: 1_000 }, NewId.next)
  assert.strictEqual(new Set(ids).size, ids.length)
  for (const id of ids) {
    assert.match(id, UUID_7)
    assert.isAtLeast(timeOf(id), before)
    assert.isAtMost(timeOf(id), Date.now())
  }
})
