import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as TimeLimit from "../../src/system/TimeLimit.ts"

describe("what runs for a limited time", () => {
  it("comes to its result, or to its error, as it would without a limit", () => {
    assert.deepStrictEqual(
      TimeLimit.run(() => 1, 10_000),
      Option.some(1)
    )
    const error = new RangeError("deep")
    const thrown = () =>
      TimeLimit.run(() => {
        throw error
      }, 10_000)
    try {
      assert.fail(`it came to ${String(thrown())}`)
    } catch (caught) {
      assert.strictEqual(caught, error)
    }
  })

  it("is broken off, whatever it does, and the next one runs as ever", () => {
    let turns = 0
    const endless = (): never => {
      for (;;) turns++
    }
    assert.deepStrictEqual(TimeLimit.run(endless, 20), Option.none())
    assert.isAbove(turns, 0)
    assert.deepStrictEqual(
      TimeLimit.run(() => "next", 10_000),
      Option.some("next")
    )
  })

  it("may itself run something for a limited time", () => {
    const inner = () => TimeLimit.run(() => 1, 10_000)
    assert.deepStrictEqual(TimeLimit.run(inner, 10_000), Option.some(Option.some(1)))
  })
})
