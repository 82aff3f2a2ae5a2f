/** Tests tickets without a call: the gate has them back at once. */
import { describe, expect, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import * as Admission from "../../../src/engine/turn/Admission.ts"
import { Gatekeeper, type GateTicket } from "../../../src/engine/gate/Gatekeeper.ts"
import * as TurnLife from "../../../src/engine/session/TurnLife.ts"

const gatekeeper = () => new Gatekeeper({ now: () => 0, at: () => () => {} })

const holding = (ticket: GateTicket) => {
  const turn = new TurnLife.TurnLife(request.turnId)
  turn.hold("ticket", ticket)
  return turn
}

const awaited = (gatekeeper: Gatekeeper) => ({
  gatekeeper,
  turnId: request.turnId,
  since: 0,
  waitMs: 1,
  notBefore: 0,
  isWanted: false,
  mayShare: true
})

const by = { commandId: Ids.CommandId.make("k"), origin: "a test" }

const request = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  step: 0,
  attempt: 0,
  target: { provider: "p", model: "m" },
  messages: [],
  tools: []
}

describe("Admission", () => {
  it("a ticket is given back once, and is removed from its turn", () => {
    const gate = gatekeeper()
    const turn = holding(gate.admit())
    expect(gate.isIdle).toBe(false)
    turn.without("ticket")
    expect(gate.isIdle).toBe(true)
    expect(turn.holds.ticket).toBeUndefined()
  })

  it("Admission.A1: a turn that a person orders to retry calls with one ticket, and gives back its former one", () => {
    const gate = gatekeeper()
    const first = gate.admit()
    const turn = holding(first)
    Admission.atGate({ type: "now", by }, turn, awaited(gate))
    expect(turn.holds.ticket).toBeDefined()
    expect(turn.holds.ticket).not.toBe(first)
    turn.holds.ticket?.giveBack()
    expect(gate.isIdle).toBe(true)
  })

  const others: ReadonlyArray<RetryStrategy.Wake> = [
    { type: "until", until: 1, by },
    { type: "extended", byMs: 1, by },
    { type: "switched", target: { provider: "other", model: "m" }, by },
    { type: "cancelled", by }
  ]
  for (const wake of others) {
    it(`Admission.A1: a turn whose wait ends with ${wake.type} makes no call, and gives its ticket back`, () => {
      const gate = gatekeeper()
      const turn = holding(gate.admit())
      Admission.atGate(wake, turn, awaited(gate))
      expect(gate.isIdle).toBe(true)
      expect(turn.holds.ticket).toBeUndefined()
    })
  }

  it.effect(
    "Admission.A2: a turn that goes elsewhere gives its ticket back, and counts at the other gate as a first attempt",
    () =>
      Effect.gen(function* () {
        const [left, taken] = [gatekeeper(), gatekeeper()]
        const turn = holding(left.admit())
        const gates = { ...Gates.noop, of: () => taken }
        const scripted = ScriptedProvider.make([ScriptedProvider.answer("Hello")])
        const provider = Admission.throughGates(scripted, gates, turn, () => true, false)
        yield* Stream.runDrain(provider.stream(request))
        expect(left.isIdle).toBe(true)
        expect(taken.isIdle).toBe(true)
        expect(turn.holds.ticket).toBeUndefined()
      })
  )
})
