import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import * as FinalReports from "../../../src/config/report/FinalReports.ts"

describe("a function that runs with a time limit", () => {
  it("returns its result, or throws its error, as without a limit", () => {
    assert.deepStrictEqual(
      FinalReports.withinTime(() => 1, 10_000),
      Option.some(1)
    )
    const error = new RangeError("deep")
    const thrown = () =>
      FinalReports.withinTime(() => {
        throw error
      }, 10_000)
    try {
      assert.fail(`it came to ${String(thrown())}`)
    } catch (caught) {
      assert.strictEqual(caught, error)
    }
  })

  it("is interrupted, whatever it does, and the next one runs as usual", () => {
    const seen = { turns: 0 }
    const endless = (): never => {
      for (;;) seen.turns++
    }
    // On a busy machine a short limit may pass before the function begins.
    for (let limitMs = 20; seen.turns === 0; limitMs *= 2) {
      assert.isBelow(limitMs, 10_000, "the function has begun")
      assert.deepStrictEqual(FinalReports.withinTime(endless, limitMs), Option.none())
    }
    assert.deepStrictEqual(
      FinalReports.withinTime(() => "next", 10_000),
      Option.some("next")
    )
  })

  it("is called again where its machine was busy with others while the time passed", () => {
    const slept = new Int32Array(new SharedArrayBuffer(4))
    let calls = 0
    const late = () => {
      if (++calls === 1) Atomics.wait(slept, 0, 0)
      return "checked"
    }
    assert.deepStrictEqual(FinalReports.withinTime(late, 200), Option.some("checked"))
    assert.strictEqual(calls, 2)
  })

  it("may itself run another function with a time limit", () => {
    const inner = () => FinalReports.withinTime(() => 1, 10_000)
    assert.deepStrictEqual(FinalReports.withinTime(inner, 10_000), Option.some(Option.some(1)))
  })
})
