import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import * as Spread from "../src/Spread.ts"

const NOW = 1_795_000_000_000

const sleepersOf = (wakeTimes: ReadonlyArray<number>): ReadonlyArray<Spread.Sleeper> =>
  wakeTimes.map((wakeAt, n) => ({
    conversationId: Ids.ConversationId.make(`c-${n}`),
    turnId: Ids.TurnId.make(`t-${n}`),
    wakeAt
  }))

const sleepers = fc
  .array(
    fc.oneof(
      fc.integer({ min: NOW - 100_000_000, max: NOW + 100_000_000 }),
      fc.integer({ min: NOW - 1, max: NOW + 1 })
    ),
    {
      maxLength: 200,
      size: "max"
    }
  )
  .map(sleepersOf)

describe("Spread", () => {
  it("rule X1: a turn that is not due yet is not delayed", () => {
    fc.assert(
      fc.property(sleepers, (sleepers) => {
        const starts = Spread.startsOf(sleepers, NOW)
        for (const { turnId, wakeAt } of sleepers) expect(starts.has(turnId)).toBe(wakeAt <= NOW)
      })
    )
  })

  it("rule X1: due turns start one by one from now on, the longest overdue first", () => {
    fc.assert(
      fc.property(sleepers, (sleepers) => {
        const starts = Spread.startsOf(sleepers, NOW)
        const due = sleepers
          .filter(({ wakeAt }) => wakeAt <= NOW)
          .sort((a, b) => a.wakeAt - b.wakeAt)
          .map(({ turnId }) => starts.get(turnId) ?? Number.NaN)
        due.forEach((start, place) => expect(start).toBe(NOW + place * Spread.STEP_MS))
      })
    )
  })

  it("any number of due turns start within the window, no two at the same moment", () => {
    for (const count of [1, 2, 3_000, 3_001, 50_000]) {
      const starts = Array.from(Spread.startsOf(sleepersOf(Array(count).fill(NOW - 1)), NOW).values())
      expect(starts).toHaveLength(count)
      expect(starts[0]).toBe(NOW)
      expect(starts.at(-1)).toBeLessThan(NOW + Spread.WINDOW_MS)
      expect(new Set(starts).size).toBe(count)
    }
  })
})
