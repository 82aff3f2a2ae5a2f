import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as SchedulePicture from "../../src/before/SchedulePicture.tsx"

const preview = {
  model: "a/m",
  profile: "overnight",
  retry: {},
  settings: [],
  rows: [
    { delayMs: 5_000, atMs: 5_000, clipped: false },
    { delayMs: 10_000, atMs: 15_000, clipped: false }
  ],
  conclusion: "2 retries.",
  isWhole: true,
  kinds: [
    {
      kinds: ["auth", "refused"],
      steps: [
        { delayMs: 0, target: "b/m" },
        { delayMs: 1_000, target: "b/m" }
      ]
    }
  ],
  remarks: []
}

it("a lane has a call for each retry, and marks where another model is called", () => {
  const [whole, kind] = SchedulePicture.lanesOf("as configured", preview)
  expect(whole?.calls.map(({ atMs }) => atMs)).toEqual([0, 5_000, 15_000])
  expect(kind?.calls).toEqual([{ atMs: 0 }, { atMs: 0, switchedTo: "b/m" }, { atMs: 1_000, switchedTo: undefined }])
  expect([whole, kind].map((lane) => lane && SchedulePicture.wordsOf(lane))).toEqual([
    "as configured: 2 retries within 15 s, then the turn fails",
    "as configured: auth, refused: 2 retries within 1 s, over b/m, and so on"
  ])
  expect(SchedulePicture.lengthOf(SchedulePicture.lanesOf("x", preview))).toBe(15_000)
})

it("the axis has at most seven marks, from 0 on, within its length", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 400 * 86_400_000 }), (length) => {
      const ticks = SchedulePicture.ticksOf(length)
      expect(ticks[0]).toBe(0)
      expect(ticks.length).toBeLessThanOrEqual(7)
      expect(ticks.every((tick) => tick <= length)).toBe(true)
    })
  )
})
