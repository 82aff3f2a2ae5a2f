/** Tests what a stream that is open keeps in memory. */
import { assert, describe, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import type { Provider } from "@holdfast/kernel"
import { Opening } from "@holdfast/kernel/host"
import { Limits } from "@holdfast/providers"
import { Ids } from "@holdfast/wire"
import { Effect, Layer, Stream } from "effect"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import * as Gates from "../../src/gate/Gates.ts"
import { TurnLife } from "../../src/session/TurnLife.ts"
import * as Admission from "../../src/turn/Admission.ts"
import * as Handover from "../../src/turn/Handover.ts"

const request: Provider.ProviderRequest = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  step: 0,
  attempt: 0,
  target: { provider: "own", model: "m" },
  messages: [],
  tools: []
}

const world: Opening.World = { now: () => 0, elapsed: () => 0, after: () => () => {} }

const gates = Gates.layer(() => ({ baseUrl: "http://own", credential: undefined })).pipe(Layer.provide(Timer.layer))

/** A weak reference keeps its object alive until the end of the task that made it. */
const collected = Effect.gen(function* () {
  yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  v8.setFlagsFromString("--expose-gc")
  vm.runInNewContext("gc")()
})

/** Begins a call and answers it, in a function of its own, so that no variable of the test keeps the call's listener. */
const answered = (
  stream: Opening.Events,
  underWay: Array<Opening.Listener>,
  answers: Array<Opening.Answered>
): WeakRef<Opening.Listener> => {
  const listener: Opening.Listener = { refused: () => {}, answered: (answer) => void answers.push(answer) }
  Opening.of(stream)?.(world, listener)
  for (const { answered } of underWay.splice(0)) answered({ rest: Stream.never, cancel: () => {} })
  return new WeakRef(listener)
}

describe("an open stream", () => {
  it.effect("Opening.O4: keeps nothing of its opening, behind limits and gate", () =>
    Effect.gen(function* () {
      const underWay: Array<Opening.Listener> = []
      const native: Provider.Provider["Service"] = {
        stream: () =>
          Opening.attach(Stream.never, () => (_world, listener) => {
            underWay.push(listener)
            return () => {}
          })
      }
      const limited = Limits.withLimits(native, { firstContentMs: 1_000, idleMs: 1_000 })
      const turn = new TurnLife(request.turnId, { _tag: "Queued" })
      const gated = Admission.throughGates(limited, yield* Gates.Gates, turn, () => true, Admission.isOrdered([]))
      const answers: Array<Opening.Answered> = []
      const listener = answered(gated.stream(request), underWay, answers)
      yield* collected
      assert.lengthOf(answers, 1)
      assert.isUndefined(listener.deref())
    }).pipe(Effect.provide(gates))
  )

  it.effect("takes its call out of the handover, which the fiber keeps", () =>
    Effect.sync(() => {
      const call: Handover.Call = { stream: Stream.never, cancel: () => {}, isUnderWay: true }
      const handover = { call } as Handover.Handover // nothing else of it is read
      assert.isDefined(Handover.takeCall(handover, { stream: () => Stream.never }))
      assert.isUndefined(handover.call)
    })
  )
})
