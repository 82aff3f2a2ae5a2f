import { expect, it } from "vitest"
import * as Moments from "../../src/text/Moments.ts"

it("a countdown is rounded up, so that it is 0 s only once it is over", () => {
  expect([0, 1, 1_000, 59_001, 60_000, 249_000].map(Moments.countdown)).toEqual([
    "0 s",
    "1 s",
    "1 s",
    "1 m 00 s",
    "1 m 00 s",
    "4 m 09 s"
  ])
  expect(Moments.countdown(7 * 3_600_000 + 2 * 60_000)).toBe("7 h 02 m")
  expect(Moments.countdown(-5)).toBe("0 s")
})

it("a duration has its two largest units", () => {
  expect([200, 5_000, 90_000, 300_000, 5_400_000, 28_800_000].map(Moments.duration)).toEqual([
    "200 ms",
    "5 s",
    "1 m 30 s",
    "5 m",
    "1 h 30 m",
    "8 h"
  ])
})

it("a moment of another day has its date", () => {
  const now = new Date(2031, 3, 8, 9, 0).getTime()
  expect(Moments.moment(now + 60_000, now)).not.toMatch(/8/)
  expect(Moments.moment(now + 24 * 3_600_000, now)).toMatch(/9/)
})

it("a time has seconds where the wait before it is shorter than a minute", () => {
  const at = new Date(2031, 3, 8, 22, 5, 9).getTime()
  expect(Moments.after(at, 59_999)).toBe("22:05:09")
  expect(Moments.after(at, 60_000)).toBe("22:05")
})

it("times of the service become those of this place, and what it quotes stays", () => {
  const now = new Date(2031, 3, 8, 9, 0).getTime()
  const at = new Date(2031, 3, 8, 22, 5, 9)
  const utc = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`
  expect(Moments.local(`"Back at ${utc}" Retry 1 at ${utc}, after 5 s.`, now)).toBe(
    `"Back at ${utc}" Retry 1 at 22:05:09, after 5 s.`
  )
})
