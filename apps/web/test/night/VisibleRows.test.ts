import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as VisibleRows from "../../src/night/VisibleRows.ts"

it("all rows in sight are drawn, and never more than the window holds and some around it", () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.nat(500_000), fc.nat(2_000), (count, top, height) => {
      const { end, first } = VisibleRows.drawn(count, top, height)
      expect(0 <= first && first <= end && end <= count).toBe(true)
      expect(end - first).toBeLessThanOrEqual(Math.ceil(height / VisibleRows.ROW_PX) + 18)
      for (const y of [top, top + height / 2, top + height - 1]) {
        const row = Math.floor(y / VisibleRows.ROW_PX)
        if (y >= top && row < count) expect(first <= row && row < end).toBe(true)
      }
    })
  )
})
