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
