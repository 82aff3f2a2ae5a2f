import { assert, describe, it } from "@effect/vitest"
import { OutcomesFirst } from "../../src/driver/OutcomesFirst.ts"

describe("calls that wait for outcomes", () => {
  it("OutcomesFirst.O1: a call begins at once if every outcome is on disk", () => {
    const outcomes = new OutcomesFirst()
    const begun: Array<string> = []
    outcomes.whenWritten(() => begun.push("before any"))
    outcomes.arrived()()
    outcomes.whenWritten(() => begun.push("after one"))
    assert.deepStrictEqual(begun, ["before any", "after one"])
  })

  it("OutcomesFirst.O1: a call waits for the outcomes before it, in any order of their writing, and not for later ones", () => {
    const outcomes = new OutcomesFirst()
    const begun: Array<string> = []
    const [first, second] = [outcomes.arrived(), outcomes.arrived()]
    outcomes.whenWritten(() => begun.push("a"))
    const third = outcomes.arrived()
    outcomes.whenWritten(() => begun.push("b"))
    second()
    assert.deepStrictEqual(begun, [])
    assert.isFalse(outcomes.areWritten)
    first()
    assert.deepStrictEqual(begun, ["a"])
    third()
    assert.deepStrictEqual(begun, ["a", "b"])
    assert.isTrue(outcomes.areWritten)
  })

  it("OutcomesFirst.O1: calls begin in their order, and a call that begins may wait for the next one", () => {
    const outcomes = new OutcomesFirst()
    const begun: Array<number> = []
    const written = outcomes.arrived()
    for (const n of [1, 2, 3]) {
      outcomes.whenWritten(() => {
        begun.push(n)
        if (n === 2) outcomes.whenWritten(() => begun.push(4))
      })
    }
    written()
    written()
    assert.deepStrictEqual(begun, [1, 2, 3, 4])
  })
})
