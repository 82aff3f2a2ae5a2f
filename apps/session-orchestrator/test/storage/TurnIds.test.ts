import { assert, it } from "@effect/vitest"
import * as TurnIds from "../../src/storage/TurnIds.ts"

it("a turn's id is a UUID of version 7 that says when it was made, and no two are the same", () => {
  const before = Date.now()
  const ids = Array.from({ length: 1_000 }, TurnIds.make)
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    assert.isAtLeast(time, before)
    assert.isAtMost(time, Date.now())
  }
  assert.strictEqual(new Set(ids).size, ids.length)
})
