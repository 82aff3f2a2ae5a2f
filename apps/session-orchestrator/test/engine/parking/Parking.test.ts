/** Tests the alarms of turns that wait on disk alone. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Gatekeeper, GateTicket, Sleeper } from "../../../src/engine/gate/Gatekeeper.ts"
import { Parking } from "../../../src/engine/parking/Parking.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

it("Parking.P4: a ticket of the gate that comes too late is given back", () => {
  const done: Array<string> = []
  let wake: Sleeper["wake"] = () => {}
  const gatekeeper = {
    enter: (sleeper: Sleeper) => void (wake = sleeper.wake),
    leave: () => {}
  } as unknown as Gatekeeper // all that is used
  const timer = { at: () => () => {}, sleepUntil: () => Effect.never }
  const parking = new Parking(timer, { takeUp: () => {}, near: () => {}, held: () => {} })
  const [conversationId, turnId] = [NumberedData.conversationId(1), NumberedData.turnId(1)]
  const wait = { gatekeeper, turnId, since: 0, waitMs: 1, notBefore: 0, isWanted: false, mayShare: true }
  parking.park(conversationId, turnId, 1_000, wait)
  parking.drop(conversationId)
  wake({ giveBack: () => void done.push("given back") } as unknown as GateTicket)
  assert.deepStrictEqual(done, ["given back"])
})

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
