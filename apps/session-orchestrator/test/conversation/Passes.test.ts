/** What becomes of a pass that no call follows: the gate has it back at once, for the next turn. */
import { describe, expect, it } from "@effect/vitest"
import type { RetryStrategy } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import * as Admission from "../../src/turn/Admission.ts"
import { Gatekeeper, type Pass } from "../../src/gate/Gatekeeper.ts"
import * as TurnLife from "../../src/session/TurnLife.ts"

const gatekeeper = () => new Gatekeeper({ now: () => 0, at: () => () => {} })

const holding = (pass: Pass | undefined) => new TurnLife.TurnLife(request.turnId, { _tag: "Queued", pass })

const awaited = (gatekeeper: Gatekeeper) => ({ gatekeeper, since: 0, waitMs: 1, notBefore: 0, isWanted: false })

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
  it("a pass is given back once, and is gone from its turn", () => {
    const gate = gatekeeper()
    const turn = holding(gate.admit())
    expect(gate.isIdle).toBe(false)
    turn.move(TurnLife.without("pass"))
    expect(gate.isIdle).toBe(true)
    expect(turn.state.pass).toBeUndefined()
  })

  it.effect("A1: a turn that a person wants now calls with one pass, and gives the one back that it had", () =>
    Effect.gen(function* () {
      const gate = gatekeeper()
      const first = gate.admit()
      const turn = holding(first)
      yield* Admission.heard(Effect.succeed({ type: "now", by }), turn, awaited(gate))
      expect(turn.state.pass).toBeDefined()
      expect(turn.state.pass).not.toBe(first)
      turn.state.pass?.giveBack()
      expect(gate.isIdle).toBe(true)
    })
  )

  const others: ReadonlyArray<RetryStrategy.Wake> = [
    { type: "until", until: 1, by },
    { type: "extended", byMs: 1, by },
    { type: "switched", target: { provider: "other", model: "m" }, by },
    { type: "cancelled", by }
  ]
  for (const wake of others) {
    it.effect(`A1: a turn whose wait ends with ${wake.type} makes no call, and gives its pass back`, () =>
      Effect.gen(function* () {
        const gate = gatekeeper()
        const turn = holding(gate.admit())
        yield* Admission.heard(Effect.succeed(wake), turn, awaited(gate))
        expect(gate.isIdle).toBe(true)
        expect(turn.state.pass).toBeUndefined()
      })
    )
  }

  it.effect("A2: a turn that goes elsewhere gives its pass back, and is at the other gate as a first attempt is", () =>
    Effect.gen(function* () {
      const [left, taken] = [gatekeeper(), gatekeeper()]
      const turn = holding(left.admit())
      const gates = { of: () => taken, limiterOf: () => undefined }
      const scripted = ScriptedProvider.make([ScriptedProvider.answer("Hello")])
      const provider = Admission.gated(scripted, gates, turn, () => true)
      yield* Stream.runDrain(provider.stream(request))
      expect(left.isIdle).toBe(true)
      expect(taken.isIdle).toBe(true)
      expect(turn.state.pass).toBeUndefined()
    })
  )
})
