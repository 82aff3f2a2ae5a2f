import { describe, expect, it } from "@effect/vitest"
import { RestartDelays } from "../../../src/engine/recovery/InterruptedTurns.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const [one, two] = [NumberedData.conversationId(1), NumberedData.conversationId(2)]

/** The delays of a conversation that is stopped as soon as it restarts, so many times. */
const waitsOf = (restartDelays: RestartDelays, times: number): ReadonlyArray<number> => {
  let now = 0
  return Array.from({ length: times }, () => {
    const delayMs = restartDelays.stopped(one, now)
    now += delayMs
    return delayMs
  })
}

describe("RestartDelays", () => {
  it("restarts the first time at once, then at growing intervals up to the longest", () => {
    expect(waitsOf(new RestartDelays(), 6)).toEqual([0, 1_000, 2_000, 4_000, 8_000, 16_000])
    expect(waitsOf(new RestartDelays(), 20).slice(-2)).toEqual([300_000, 300_000])
  })

  it("counts each conversation by itself", () => {
    const restartDelays = new RestartDelays()
    waitsOf(restartDelays, 10)
    expect(restartDelays.stopped(two, 0)).toBe(0)
  })

  it("restarts a conversation at once that has run for a while", () => {
    const restartDelays = new RestartDelays()
    expect([waitsOf(restartDelays, 3), restartDelays.stopped(one, 3_000 + 59_999)]).toEqual([[0, 1_000, 2_000], 4_000])
    expect(restartDelays.stopped(one, 6_999 + 120_000)).toBe(0)
  })

  it("keeps nothing of settled conversations", () => {
    const restartDelays = new RestartDelays()
    for (let n = 0; n < 1_000; n++) restartDelays.stopped(NumberedData.conversationId(n), n)
    expect(restartDelays.size).toBe(1_000)
    restartDelays.stopped(one, 61_000)
    expect(restartDelays.size).toBe(1)
    // A conversation that is stopped again comes behind those that settle before it.
    const again = new RestartDelays()
    for (const [id, now] of [
      [one, 0],
      [two, 0],
      [one, 1]
    ] as const)
      again.stopped(id, now)
    again.stopped(NumberedData.conversationId(3), 60_000)
    expect(again.size).toBe(2)
  })
})
