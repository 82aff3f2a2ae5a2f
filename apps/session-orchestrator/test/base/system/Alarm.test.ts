import { assert, describe, it } from "@effect/vitest"
import { Alarm } from "../../../src/base/system/Alarm.ts"
import { ManualClock } from "../../engine/conversation/ManualClock.ts"

const make = () => {
  const clock = new ManualClock()
  const rings: Array<number> = []
  const begin = clock.now()
  const alarm = new Alarm(clock.at, () => rings.push(clock.now() - begin))
  return { clock, rings, set: (ms: number) => alarm.set(begin + ms) }
}

describe("an alarm", () => {
  it("rings once, at the time that was set last", () => {
    const { rings, set, clock } = make()
    set(10)
    set(5)
    set(20)
    assert.strictEqual(clock.size, 1)
    clock.move(30)
    assert.deepStrictEqual(rings, [20])
    assert.strictEqual(clock.size, 0)
  })

  it("ignores the time that it is set to already, and accepts it again after it has come", () => {
    const { rings, set, clock } = make()
    let sets = 0
    const counted = new Alarm(
      (at, act) => {
        sets++
        return clock.at(at, act)
      },
      () => {}
    )
    for (let n = 0; n < 3; n++) counted.set(clock.now() + 10)
    assert.strictEqual(sets, 1)
    set(10)
    clock.move(10)
    set(10)
    clock.move(0)
    assert.deepStrictEqual(rings, [10, 10])
  })

  it("that is switched off does not ring", () => {
    const { rings, set, clock } = make()
    set(110)
    set(Infinity)
    assert.strictEqual(clock.size, 0)
    clock.move(100)
    assert.deepStrictEqual(rings, [])
    set(110)
    clock.move(10)
    assert.deepStrictEqual(rings, [110])
  })
})
