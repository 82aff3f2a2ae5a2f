import { assert, describe, it } from "@effect/vitest"
import { Alarm } from "../../src/system/Alarm.ts"
import { ManualClock } from "../conversation/ManualClock.ts"

const make = () => {
  const world = new ManualClock()
  const rings: Array<number> = []
  const begin = world.now()
  const alarm = new Alarm(world.at, () => rings.push(world.now() - begin))
  return { world, rings, set: (ms: number) => alarm.set(begin + ms) }
}

describe("an alarm", () => {
  it("rings once, at the time that was set last", () => {
    const { rings, set, world } = make()
    set(10)
    set(5)
    set(20)
    assert.strictEqual(world.size, 1)
    world.move(30)
    assert.deepStrictEqual(rings, [20])
    assert.strictEqual(world.size, 0)
  })

  it("ignores the time that it is set to already, and accepts it again after it has come", () => {
    const { rings, set, world } = make()
    let sets = 0
    const counted = new Alarm(
      (at, act) => {
        sets++
        return world.at(at, act)
      },
      () => {}
    )
    for (let n = 0; n < 3; n++) counted.set(world.now() + 10)
    assert.strictEqual(sets, 1)
    set(10)
    world.move(10)
    set(10)
    world.move(0)
    assert.deepStrictEqual(rings, [10, 10])
  })

  it("that is switched off does not ring", () => {
    const { rings, set, world } = make()
    set(10)
    set(Infinity)
    assert.strictEqual(world.size, 0)
    world.move(100)
    assert.deepStrictEqual(rings, [])
    set(110)
    world.move(10)
    assert.deepStrictEqual(rings, [110])
  })
})
