/** Tests what a stream that is open keeps in memory. */
import { assert, describe, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
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

const gates = Gates.layer(() => ({ baseUrl: "http://own", credential: undefined })).pipe(Layer.provide(Timer.layer))

/** A weak reference keeps its object alive until the end of the task that made it. */
const collected = Effect.gen(function* () {
  yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  v8.setFlagsFromString("--expose-gc")
  vm.runInNewContext("gc")()
})

const HELLO: ProviderCall.Events = [{ type: "text-delta", delta: "Hello" }]

/** Begins a call in a function of its own, so that no variable of the test keeps the driver's listener. */
const begun = (
  provider: Provider.Provider["Service"],
  world: ProviderCall.World
): readonly [Handover.BegunCall, WeakRef<(beginning: Handover.Beginning) => void>] => {
  const driver = (beginning: Handover.Beginning) => void beginning
  const call = new Handover.BegunCall(driver)
  call.begin((listener) => ProviderCall.of(provider)(request, world, listener))
  return [call, new WeakRef(driver)]
}

describe("an open stream", () => {
  it.effect("a call that is handed over keeps nothing of the driver, behind limits and gate", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const native = ProviderCall.provider((_request, _world, listener) => {
          listener.events(HELLO)
          return { more: () => {}, cancel: () => {} }
        })
        const limited = Limits.withLimits(native, { firstContentMs: 1_000, idleMs: 1_000 })
        const turn = new TurnLife(request.turnId, { _tag: "Queued" })
        const gated = Admission.throughGates(limited, yield* Gates.Gates, turn, () => true, Admission.isOrdered([]))
        const [call, driver] = begun(gated, yield* ProviderCall.worldOf(yield* Effect.scope))
        const seen: Array<ProviderCall.Events> = []
        call.goOn({ events: (events) => seen.push(events) > 0, end: () => {}, progress: () => {} })
        yield* collected
        assert.deepStrictEqual(seen, [HELLO])
        assert.isUndefined(driver.deref())
        call.cancel()
      })
    ).pipe(Effect.provide(gates))
  )

  it.effect("takes its call out of the handover, which the fiber keeps", () =>
    Effect.sync(() => {
      const call = Handover.pending(() => {})
      const handover = { call } as Handover.Handover // nothing else of it is read
      assert.isDefined(Handover.takeCall(handover, { stream: () => Stream.never }))
      assert.isUndefined(handover.call)
    })
  )
})
