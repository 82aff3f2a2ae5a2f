import { describe, expect, it } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import * as TakeOver from "../../src/cluster/TakeOver.ts"
import { STEP_MS } from "../../src/durable/Spread.ts"
import type { Record } from "../../src/storage/Journal.ts"
import { failed, mark, retry } from "../inspection/GivenRecords.ts"
import * as Given from "../storage/Given.ts"

const NOW = 1_795_000_000_000

/** Turns of conversations by number, oldest first, with the newest record of each. */
const given = (...turns: ReadonlyArray<readonly [turn: number, of: number, tail?: Record]>) =>
  TakeOver.alarmsOf(
    turns.map(([turn, of]) => ({ turnId: Given.turnId(turn), conversationId: Given.conversationId(of) })),
    new Map(turns.flatMap(([turn, , tail]): Array<[Ids.TurnId, Record]> => (tail ? [[Given.turnId(turn), tail]] : []))),
    NOW
  )

const until = (retryAt: number) => retry(0, 60_000, retryAt)

describe("TakeOver", () => {
  it("X1: a turn that waits is called at the end of its wait, to the millisecond", () => {
    expect(given([1, 1, until(NOW + 1)]).get(Given.conversationId(1))).toEqual({
      at: NOW + 1,
      isWaiting: true,
      queued: 0
    })
  })

  it("X6: of a dead runner, turns that are due start in a spread, behind those that were in the middle of something", () => {
    const alarms = given(
      [1, 1, until(NOW - 5)],
      [2, 2, until(NOW - 50)],
      [3, 3, mark(0)],
      [4, 4],
      [5, 5, failed(0, NOW)],
      [6, 6, until(NOW + 60_000)]
    )
    const starts = [3, 4, 5, 2, 1].map((n) => alarms.get(Given.conversationId(n))?.at)
    expect(starts).toEqual([0, 1, 2, 3, 4].map((place) => NOW + place * STEP_MS))
    expect(alarms.get(Given.conversationId(6))?.at).toBe(NOW + 60_000)
  })

  it("a conversation is called once, for the turn at its head", () => {
    const alarms = given([1, 1, until(NOW + 60_000)], [2, 1, until(NOW - 1)], [3, 1])
    expect(Array.from(alarms.values())).toEqual([{ at: NOW + 60_000, isWaiting: true, queued: 2 }])
  })
})
