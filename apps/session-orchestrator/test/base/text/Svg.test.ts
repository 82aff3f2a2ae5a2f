import { expect, it } from "@effect/vitest"
import * as Svg from "../../../src/base/text/Svg.ts"

it("a moment has its place between the ends, and ticks are at whole steps", () => {
  const place = Svg.scale({ from: 10, to: 11 }, { left: 100, right: 200 })
  expect([9, 10, 10.5, 11, 12].map(place)).toEqual([100, 100, 150, 200, 200])
  const [minutes, hours] = [[1, 5, 15, 30].map((n) => n * 60), [1, 2, 3, 6, 12, 24].map((n) => n * 3_600)]
  const steps = [1, 5, 10, 30, ...minutes, ...hours].map((seconds) => seconds * 1_000)
  expect(steps.map((step) => Svg.ticks(0, step, 1))).toEqual(steps.map((step) => [0, step]))
  const day = 86_400_000
  const others = [Svg.ticks(1, 2, 5), Svg.ticks(0, 5 * day, 2), Svg.ticks(1, 3_000, 3)]
  expect(others).toEqual([[], [0, 3 * day], [1_000, 2_000, 3_000]])
})
