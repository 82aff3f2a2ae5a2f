/** Tests durations as text. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as fc from "fast-check"
import * as Millis from "../../src/values/Millis.ts"

describe("Millis", () => {
  it("writes whole milliseconds as Duration.format does, with a space before each unit", () =>
    fc.assert(
      fc.property(fc.nat(400 * 86_400_000), fc.constantFrom(1, 1_000, 60_000, 3_600_000), (ms, unit) => {
        const whole = Math.floor(ms / unit) * unit
        assert.strictEqual(
          Millis.format(whole),
          Duration.format(Duration.millis(whole)).replaceAll(/(?<=\d)(?=[a-z])/g, " ")
        )
      })
    ))

  it.each([
    [0, "0"],
    [-5_000, "0"],
    [249.6, "250 ms"],
    [28_800_000, "8 h"],
    [90_061_001, "1 d 1 h 1 m 1 s 1 ms"]
  ])("%d is %s", (ms, words) => {
    assert.strictEqual(Millis.format(ms), words)
  })
})
