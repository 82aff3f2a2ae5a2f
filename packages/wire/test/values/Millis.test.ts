/** Tests durations as text. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as fc from "fast-check"
import * as Millis from "../../src/values/Millis.ts"

describe("Millis", () => {
  it("writes whole milliseconds as Duration.format does", () =>
    fc.assert(
      fc.property(fc.nat(400 * 86_400_000), fc.constantFrom(1, 1_000, 60_000, 3_600_000), (ms, unit) => {
        const whole = Math.floor(ms / unit) * unit
        assert.strictEqual(Millis.format(whole), Duration.format(Duration.millis(whole)))
      })
    ))

  it.each([
    [0, "0"],
    [-5_000, "0"],
    [249.6, "250ms"],
    [28_800_000, "8h"],
    [90_061_001, "1d 1h 1m 1s 1ms"]
  ])("%d is %s", (ms, words) => {
    assert.strictEqual(Millis.format(ms), words)
  })
})
