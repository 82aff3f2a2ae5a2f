/** A call that is read by a listener, without a fiber. */
import { assert, it } from "@effect/vitest"
import { RecordingSink, ScriptedProvider, TestRouter } from "@holdfast/kernel/testing"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Context, Effect, Exit, Layer } from "effect"
import { Content } from "../src/internal/calls/Content.ts"
import * as Engine from "../src/engine/Engine.ts"
import * as Performer from "../src/engine/Performer.ts"
import type { ProviderEvent } from "../src/ports/Provider.ts"
import { Router } from "../src/ports/Router.ts"
import { noop } from "../src/ports/Toolbox.ts"

const delta = (delta: string): ProviderEvent => ({ type: "text-delta", delta })

/** A call that has begun with `first`, what is shown of it, and what is called. `live` is called with each event that is shown. */
const begun = (live: (call: Performer.Listening) => void = () => {}, first: ReadonlyArray<ProviderEvent> = []) => {
  const shown: Array<TurnEvent.TurnEvent["type"]> = []
  const heard: Array<string> = []
  const call: Performer.Listening = new Performer.Listening(
    {
      live: ({ type }) => {
        shown.push(type)
        live(call)
      }
    },
    {
      conversationId: Ids.ConversationId.make("c"),
      turnId: Ids.TurnId.make("t"),
      step: 0,
      attempt: 0,
      target: { provider: "p", model: "m" },
      messages: [],
      tools: []
    },
    new Content(),
    { content: () => heard.push("content"), end: () => heard.push("end") }
  )
  call.begin((listener) => {
    const [event, ...events] = first
    if (event !== undefined) listener.events([event, ...events])
    return { more: () => heard.push("more"), cancel: () => heard.push("cancelled") }
  })
  return { call, heard, shown }
}

it("rule X2: the first content is held until it is released; what follows is read as it comes", () => {
  const { call, heard, shown } = begun()
  assert.isTrue(call.events([delta("")]))
  assert.isFalse(call.events([delta("Hel")]))
  assert.deepStrictEqual([heard, shown], [["content"], []])
  call.release()
  assert.deepStrictEqual([heard, shown], [["content", "more"], ["text-delta"]])
  assert.isTrue(call.events([delta("lo")]))
  call.end(Exit.void)
  assert.deepStrictEqual(heard, ["content", "more", "end"])
  assert.deepStrictEqual(shown, ["text-delta", "text-delta"])
})

it("rule X2: nothing is shown of content whose call was cancelled before its release", () => {
  const { call, heard, shown } = begun()
  assert.isFalse(call.events([delta("Hel")]))
  call.cancel()
  call.release()
  assert.deepStrictEqual([heard, shown], [["content", "cancelled"], []])
})

it("ProviderCall.L3: a call is cancelled, and ends, if what is released of it cannot be shown", () => {
  const { call, heard } = begun(() => {
    throw new Error("a bug")
  })
  assert.isFalse(call.events([delta("Hel")]))
  call.release()
  assert.deepStrictEqual(heard, ["content", "cancelled", "end"])
})

it("rule D8: a call that is cancelled by what it shows has no end", () => {
  const { call, heard, shown } = begun((call) => call.cancel())
  assert.isFalse(call.events([delta("Hel"), { type: "finish", finishReason: "stop" }]))
  call.release()
  assert.deepStrictEqual([heard, shown], [["content", "cancelled"], ["text-delta"]])
})

it("ProviderCall.L2: a call whose response ends while it is made is cancelled when it is there", () => {
  const { heard } = begun(() => {}, [delta(""), { type: "finish", finishReason: "stop" }])
  assert.deepStrictEqual(heard, ["end", "cancelled"])
})

it.effect(
  "refuses a command that takes no time: a route without a router, or that is no question to it, and a seal",
  () =>
    Effect.gen(function* () {
      const target = { provider: "p", model: "m" }
      const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }
      const facts = { ...ids, target, history: [], startedAt: 0 }
      const setup = { facts, life: "l1", toolbox: noop, hasRouter: true, hasCompactor: false }
      const [{ ledger }] = Engine.step(Engine.make(setup), { _tag: "Begin", known: [], persisted: [] }, 0)
      const layer = new TestRouter.TestRouter({ direct: () => undefined }).layer
      const router = Context.get(yield* Layer.build(layer), Router)
      const question = {
        primary: target,
        current: undefined,
        state: undefined,
        request: { system: "", messages: [], tools: [] }
      }
      const result = (router: Router["Service"] | undefined, command: Engine.Command) =>
        Performer.resultOf(
          {
            provider: ScriptedProvider.make([]),
            toolbox: noop,
            sink: new RecordingSink.RecordingSink().service,
            strategy: undefined,
            router,
            compactor: undefined,
            now: () => 0,
            draw: () => 0
          },
          ledger,
          command,
          { life: "l1" }
        )
      const routing = { _tag: "Route", step: 0, number: 0, from: undefined } as const
      assert.deepStrictEqual(yield* result(router, { ...routing, question }), { route: { target } })
      assert.throws(() => result(undefined, { ...routing, question }), /command Route is none/)
      assert.throws(() => result(router, { ...routing, question: undefined }), /command Route is none/)
      assert.throws(() => result(router, { _tag: "Seal", step: 0, number: 0, cut: undefined }), /command Seal is none/)
    })
)
