import { describe, expect, it } from "@effect/vitest"
import * as TakeOver from "../../src/cluster/TakeOver.ts"
import { Gatekeeper } from "../../src/conversation/Gatekeeper.ts"
import * as Interruption from "../../src/durable/Interruption.ts"
import { STEP_MS } from "../../src/durable/Spread.ts"
import * as Given from "../storage/Given.ts"

const NOW = 1_795_000_000_000

/** Turns of conversations by number, oldest first, with the end of the wait of each that waits. */
const given = (...turns: ReadonlyArray<readonly [turn: number, of: number, wakeAt?: number]>) =>
  TakeOver.alarmsOf(
    turns.map(([turn, of, wakeAt]) => ({
      turnId: Given.turnId(turn),
      conversationId: Given.conversationId(of),
      wait: wakeAt === undefined ? undefined : { wakeAt, awaited: undefined },
      interruption: undefined
    })),
    NOW
  )

describe("TakeOver", () => {
  it("X1: a turn that waits is called at the end of its wait, to the millisecond", () => {
    expect(given([1, 1, NOW + 1]).get(Given.conversationId(1))).toEqual({
      at: NOW + 1,
      isWaiting: true,
      queued: 0
    })
  })

  it("X6: of a dead runner, turns that are due start in a spread, behind those that were in the middle of something", () => {
    const alarms = given([1, 1, NOW - 5], [2, 2, NOW - 50], [3, 3], [4, 4], [5, 5], [6, 6, NOW + 60_000])
    const starts = [3, 4, 5, 2, 1].map((n) => alarms.get(Given.conversationId(n))?.at)
    expect(starts).toEqual([0, 1, 2, 3, 4].map((place) => NOW + place * STEP_MS))
    expect(alarms.get(Given.conversationId(6))?.at).toBe(NOW + 60_000)
  })

  it("X5: a turn that waits for an endpoint stands before its gate until it is called", () => {
    const gatekeeper = new Gatekeeper({ now: () => NOW, at: () => () => {} })
    const awaited = { gatekeeper, since: NOW, waitMs: 1, notBefore: NOW, isWanted: false }
    const turn = {
      turnId: Given.turnId(1),
      conversationId: Given.conversationId(1),
      wait: { wakeAt: NOW + 1, awaited },
      interruption: undefined
    }
    expect(Array.from(TakeOver.alarmsOf([turn], NOW).values())).toEqual([
      { at: NOW + 1, isWaiting: true, queued: 0, awaited }
    ])
  })

  it("X14: a turn that may take the process down starts behind all that are due", () => {
    const turn = (n: number, deaths: number, wakeAt?: number) => ({
      turnId: Given.turnId(n),
      conversationId: Given.conversationId(n),
      wait: wakeAt === undefined ? undefined : { wakeAt, awaited: undefined },
      interruption: { ...Interruption.none("one"), deaths }
    })
    const alarms = TakeOver.alarmsOf([turn(1, 2), turn(2, 1), turn(3, 0, NOW - 1)], NOW)
    expect([2, 3, 1].map((n) => alarms.get(Given.conversationId(n))?.at)).toEqual(
      [0, 1, 2].map((place) => NOW + place * STEP_MS)
    )
  })

  it("a conversation is called once, for the turn at its head", () => {
    const alarms = given([1, 1, NOW + 60_000], [2, 1, NOW - 1], [3, 1])
    expect(Array.from(alarms.values())).toEqual([{ at: NOW + 60_000, isWaiting: true, queued: 2 }])
  })
})
