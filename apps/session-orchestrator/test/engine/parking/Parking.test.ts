/** Tests the alarms of turns that wait on disk alone. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Gatekeeper, GateTicket, Sleeper } from "../../../src/engine/gate/Gatekeeper.ts"
import { NEAR_MS, Parking } from "../../../src/engine/parking/Parking.ts"
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

it("Parking.P2, Parking.P5: a parked turn is near or held as its gate predicts, and leaves once", () => {
  const seen: Array<unknown> = []
  const alarms: Array<(isDue: boolean) => void> = []
  const timer = {
    at: (at: number, ring: (isDue: boolean) => void, nearMs: number = 0) => {
      seen.push(["alarm", at, nearMs])
      alarms.push(ring)
      return () => void seen.push(["stopped", at])
    },
    sleepUntil: () => Effect.never
  }
  const parking = new Parking(timer, {
    takeUp: (id, turnId) => void seen.push(["taken up", id, turnId]),
    near: (id, { wakeAt }) => void seen.push(["near", id, wakeAt]),
    held: (id, until) => void seen.push(["held", id, until])
  })
  const found = () => seen.splice(0)
  const [id, turnId] = [NumberedData.conversationId(1), NumberedData.turnId(1)]
  const waitAt = (isOpen: boolean, isWanted: boolean) => {
    const sleepers: Array<Sleeper> = []
    const gatekeeper = {
      isOpen,
      enter: (sleeper: Sleeper) => void sleepers.push(sleeper),
      due: (sleeper: Sleeper) => sleeper.held(9_000),
      leave: () => void seen.push("left the gate")
    } as unknown as Gatekeeper // all that is used
    return { sleepers, wait: { gatekeeper, turnId, since: 0, waitMs: 1, notBefore: 0, isWanted, mayShare: true } }
  }
  const readable = [waitAt(false, false), waitAt(false, true), waitAt(true, false), undefined].map((at) => {
    parking.park(id, turnId, 1_000, at?.wait)
    alarms.at(-1)?.(false)
    return [parking.isReadable(id), at?.sleepers.length, found(), parking.drop(id)?.turnId, found()]
  })
  const [alarm, near, stopped] = [
    ["alarm", 1_000, NEAR_MS],
    ["near", id, 1_000],
    ["stopped", 1_000]
  ]
  assert.deepStrictEqual(readable, [
    [false, 1, [alarm], turnId, [stopped, "left the gate"]],
    [true, 1, [alarm, near], turnId, [stopped, "left the gate"]],
    [true, 1, [alarm, near], turnId, [stopped, "left the gate"]],
    [true, undefined, [alarm, near], turnId, [stopped]]
  ])
  const { wait } = waitAt(true, true)
  parking.park(id, turnId, 2_000, wait)
  alarms.at(-1)?.(true) // due: the gate holds it
  assert.deepStrictEqual(found(), [
    ["alarm", 2_000, NEAR_MS],
    ["held", id, 9_000]
  ])
  assert.deepStrictEqual([parking.find(id)?.heldUntil, parking.isReadable(id), parking.size], [9_000, false, 1])
  assert.deepStrictEqual(Array.from(parking.conversations), [id])
  parking.clear()
  assert.deepStrictEqual(
    [found(), parking.size, parking.isReadable(id)],
    [[["stopped", 2_000], "left the gate"], 0, false]
  )
  parking.park(id, turnId, 3_000)
  alarms.at(-1)?.(true)
  alarms.at(-1)?.(true)
  assert.isFalse(parking.leave(id, () => {}))
  assert.deepStrictEqual(found(), [
    ["alarm", 3_000, NEAR_MS],
    ["stopped", 3_000],
    ["taken up", id, turnId]
  ])
})
