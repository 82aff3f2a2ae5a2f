/** Tests the small parts of the process: a bounded map, and the phases of a shutdown. */
import { assert } from "@effect/vitest"
import { BoundedMap } from "../../../src/base/system/BoundedMap.ts"
import * as Drain from "../../../src/base/system/Drain.ts"
import * as It from "../../It.ts"

It.effect("a full map drops the entry that was set longest ago", function* () {
  const map = new BoundedMap<number>(2)
  for (const [n, key] of ["a", "b", "a", "c"].entries()) map.set(key, n)
  assert.deepStrictEqual(Array.from(map), [
    ["a", 2],
    ["c", 3]
  ])
})

It.within(Drain.layer)("a shutdown calls those that wait for its end, also those that come late", function* () {
  const { end, onEnded } = yield* Drain.Drain
  const called: Array<string> = []
  onEnded(() => called.push("gone"))()
  onEnded(() => called.push("early"))
  yield* end
  onEnded(() => called.push("late"))
  assert.deepStrictEqual(called, ["early", "late"])
})
