/** Tests turns that wait on disk alone, and how they are woken. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { GateWait, Gatekeeper, GateTicket, Sleeper } from "../../../src/engine/gate/Gatekeeper.ts"
import { NEAR_MS, Parking } from "../../../src/engine/parking/Parking.ts"
import { TurnLife } from "../../../src/engine/session/TurnLife.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const conversationId = NumberedData.conversationId(1)
const turnId = NumberedData.turnId(1)

const ticketOf = (done: Array<string>): GateTicket =>
  ({ heldMs: 0, giveBack: () => void done.push("gave back") }) as unknown as GateTicket // the parking uses nothing else of it

/** A parking whose dependencies note their calls. */
const given = ({ isOpen = true, isWanted = false } = {}) => {
  const done: Array<string> = []
  const alarms: Array<(isDue: boolean) => void> = []
  const reasons: Array<(turn: TurnLife) => void> = []
  const sleepers: Array<Sleeper> = []
  const gatekeeper = {
    isOpen,
    enter: (sleeper: Sleeper) => {
      done.push("entered")
      sleepers.push(sleeper)
    },
    due: () => void done.push("due at the gate"),
    leave: () => void done.push("left the gate")
  } as unknown as Gatekeeper // the part of it that a parking uses
  const parking = new Parking(
    {
      at: (at, wake, aheadMs) => {
        done.push(`alarm at ${at}, ${aheadMs} ahead`)
        alarms.push(wake)
        return () => void done.push("silenced")
      },
      sleepUntil: () => Effect.never
    },
    {
      takeUp: (_, turn, reason) => {
        done.push(`taken up: ${turn}`)
        reasons.push(reason)
      },
      near: () => void done.push("near"),
      held: (_, until) => void done.push(`held until ${until}`)
    }
  )
  const awaited: GateWait = { gatekeeper, turnId, since: 0, waitMs: 1, notBefore: 0, isWanted, mayShare: true }
  const events = () => done.splice(0)
  return { parking, alarms, reasons, sleepers, awaited, events, done }
}

const ring = (alarms: ReadonlyArray<(isDue: boolean) => void>, isDue: boolean): void => alarms.at(-1)?.(isDue)

describe("a turn that is parked", () => {
  it("Parking.P2: leaves when its time has come, once, with its wait elapsed", () => {
    const { alarms, parking, reasons, events } = given()
    parking.park(conversationId, turnId, 50_000)
    assert.deepStrictEqual(events(), [`alarm at 50000, ${NEAR_MS} ahead`])
    assert.strictEqual(parking.size, 1)
    assert.deepInclude(parking.find(conversationId), { turnId, wakeAt: 50_000, heldUntil: undefined })
    ring(alarms, true)
    assert.deepStrictEqual(events(), ["silenced", `taken up: ${turnId}`])
    assert.strictEqual(parking.size, 0)
    const turn = new TurnLife(turnId)
    reasons[0]?.(turn)
    assert.isTrue(turn.wait.hasNews)
    ring(alarms, true)
    assert.deepStrictEqual(events(), [])
  })

  it("Parking.P2: leaves for a command, and only once", () => {
    const { parking, events } = given()
    parking.park(conversationId, turnId, 50_000)
    events()
    assert.isTrue(parking.leave(conversationId, () => {}))
    assert.deepStrictEqual(events(), ["silenced", `taken up: ${turnId}`])
    assert.isFalse(parking.leave(conversationId, () => {}))
    assert.isUndefined(parking.drop(conversationId))
    assert.deepStrictEqual(events(), [])
  })

  it("Parking.P4: with a gate is due there when its time has come, and leaves when it is admitted", () => {
    const { alarms, awaited, parking, reasons, events, sleepers } = given()
    parking.park(conversationId, turnId, 50_000, awaited)
    assert.deepStrictEqual(events().slice(1), ["entered"])
    ring(alarms, true)
    assert.deepStrictEqual(events(), ["due at the gate"])
    sleepers[0]?.held(90_000)
    assert.strictEqual(parking.find(conversationId)?.heldUntil, 90_000)
    assert.deepStrictEqual(events(), ["held until 90000"])
    const ticket = ticketOf([])
    sleepers[0]?.wake(ticket)
    assert.deepStrictEqual(events(), ["silenced", "left the gate", `taken up: ${turnId}`])
    const turn = new TurnLife(turnId)
    reasons[0]?.(turn)
    assert.strictEqual(turn.holds.ticket, ticket)
    assert.isTrue(turn.wait.hasNews)
  })

  it("Parking.P4: that has left gives back a ticket that comes too late", () => {
    const { awaited, done, parking, events, sleepers } = given()
    parking.park(conversationId, turnId, 50_000, awaited)
    parking.drop(conversationId)
    events()
    sleepers[0]?.wake(ticketOf(done))
    assert.deepStrictEqual(events(), ["gave back"])
  })

  it("Parking.P5: is near before its time, unless its gate would hold it", () => {
    const near = (options: Parameters<typeof given>[0], hasGate: boolean, held?: number) => {
      const { alarms, awaited, parking, events, sleepers } = given(options)
      parking.park(conversationId, turnId, 50_000, hasGate ? awaited : undefined)
      if (held !== undefined) sleepers[0]?.held(held)
      events()
      ring(alarms, false)
      assert.strictEqual(parking.isReadable(conversationId), events().includes("near"))
      return parking.isReadable(conversationId)
    }
    assert.isTrue(near({}, false))
    assert.isTrue(near({}, true))
    assert.isFalse(near({ isOpen: false }, true))
    assert.isTrue(near({ isOpen: false, isWanted: true }, true))
    assert.isFalse(near({}, true, 90_000))
    assert.isFalse(given().parking.isReadable(conversationId))
  })

  it("is not taken up after all turns are released", () => {
    const { awaited, parking, events } = given()
    parking.park(conversationId, turnId, 50_000, awaited)
    events()
    parking.clear()
    assert.deepStrictEqual(events(), ["silenced", "left the gate"])
    assert.strictEqual(parking.size, 0)
  })
})
