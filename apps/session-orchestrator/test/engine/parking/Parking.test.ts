/** Tests the alarms of turns that wait on disk alone. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Parking } from "../../../src/engine/parking/Parking.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

it("a parked turn is taken up once, by its time or by a command, and leaves no alarm; nor do turns that are released", () => {
  const alarms = new Map<number, (isDue: boolean) => void>()
  const taken: Array<string> = []
  const timer = {
    at: (at: number, wake: (isDue: boolean) => void) => {
      alarms.set(at, wake)
      return () => void alarms.delete(at)
    },
    sleepUntil: () => Effect.never
  }
  const parking = new Parking(timer, { takeUp: (_, turn) => void taken.push(turn), near: () => {}, held: () => {} })
  const ids = [1, 2, 3].map((n) => [NumberedData.conversationId(n), NumberedData.turnId(n), n * 1_000] as const)
  for (const wait of ids) parking.park(...wait)
  alarms.get(1_000)?.(true)
  assert.isTrue(parking.leave(NumberedData.conversationId(2), () => {}))
  assert.isFalse(parking.leave(NumberedData.conversationId(2), () => {}))
  assert.deepStrictEqual([taken, Array.from(alarms.keys())], [["turn-1", "turn-2"], [3_000]])
  parking.clear()
  assert.deepStrictEqual([parking.size, alarms.size], [0, 0])
})
