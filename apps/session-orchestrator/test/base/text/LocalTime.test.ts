import { expect, it } from "@effect/vitest"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"

const DAY = 86_400_000
const MINUTE = 60_000

it("a moment of a period has its date where the day is not clear", () => {
  const shown = (length: number, ...moments: ReadonlyArray<number>) =>
    moments.map(LocalTime.within({ since: DAY, until: DAY + length, timeZone: "UTC" }))
  const [before, after] = ["1970-01-01 23:59", "1970-01-03 00:01"]
  expect(shown(DAY, DAY - MINUTE, DAY, 2 * DAY, 2 * DAY + MINUTE)).toEqual([before, "00:00", "00:00", after])
  expect(shown(DAY + MINUTE, DAY, 2 * DAY)).toEqual(["1970-01-02 00:00", "1970-01-03 00:00"])
})

it("a daily time has a last moment up to now, which counts, and a next one after it", () => {
  const at = (day: number, hours = 7, ms = 0) => new Date(2031, 5, day, hours, 30, 0, ms).getTime()
  const around = (now: number) => [LocalTime.lastDaily("07:30", now), LocalTime.nextDaily("07:30", now)]
  expect([around(at(10)), around(at(10) - 1)]).toEqual([
    [at(10), at(11)],
    [at(9), at(10)]
  ])
  expect(around(at(10, 23))).toEqual([at(10), at(11)])
  expect(LocalTime.onDay("07:30", at(10, 23), 2)).toBe(at(12))
})
