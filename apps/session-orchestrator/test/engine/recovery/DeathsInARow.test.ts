/** Tests turns that were in progress at deaths of their process in a row (rule X14). */
import { assert, it } from "@effect/vitest"
import { Interruption, Interruptions } from "@holdfast/journal"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber, identity, Layer, Logger, Option } from "effect"
import * as InterruptedTurns from "../../../src/engine/recovery/InterruptedTurns.ts"
import { Session } from "../../../src/engine/session/Session.ts"
import { TurnLife } from "../../../src/engine/session/TurnLife.ts"
import type { TurnServices } from "../../../src/engine/turn/TurnServices.ts"
import { Store } from "../../../src/storage/Store.ts"
import { settled, withService } from "../conversation/ConversationSetup.ts"
import * as Logged from "../../storage/Logged.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const { hangs } = ScriptedProvider
const { conversationId, turnId } = NumberedData

/** A store with turns 1, 2 and so on, each of a conversation of its own, whose last process has died so many times in a row by now. */
const left = Effect.fnUntraced(function* (...deaths: ReadonlyArray<number>) {
  const storage = Layer.succeedContext(yield* Layer.build(Layer.fresh(MemoryStore.layer)))
  yield* Effect.gen(function* () {
    const store = yield* Store
    const { takeUp } = yield* Interruptions.Interruptions
    for (const [i, count] of deaths.entries()) {
      const n = i + 1
      yield* store.createConversation(NumberedData.conversation(n, { model: "test/m" }))
      yield* Logged.accept(NumberedData.turn(n, n))
      yield* takeUp(turnId(n), {
        ...Interruption.none("gone"),
        deaths: count - 1,
        isAlone: count > Interruption.SUSPECT
      })
    }
  }).pipe(Effect.provide(storage))
  return storage
})

it.effect("rules X14, P14: one that waits to run alone is ended by an abort at once; an orderly stop resets it", () =>
  Effect.gen(function* () {
    const storage = yield* left(3, 3)
    yield* withService(
      { scripts: [hangs(yield* Deferred.make<void>())], storage },
      function* ({ conversations, stop }) {
        yield* settled
        assert.isTrue(yield* conversations.abort(conversationId(2)))
        assert.strictEqual((yield* conversations.result(turnId(2))).end.status, "aborted")
        yield* stop
      }
    )
    const { find } = yield* Effect.provide(Interruptions.Interruptions, storage)
    assert.deepInclude(Option.getOrThrow(yield* find(turnId(1))), { deaths: 0, isOrderly: true })
  }).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
)

it.effect("rule X14: one that waits to run alone leaves its place to those that are due; it is noted when it may", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const interruption = { ...Interruption.none("gone"), deaths: Interruption.SUSPECT }
    const turn = new TurnLife(turnId(1), "queued", { interruption })
    turn.hold("place", { weigh: () => {}, ready: () => {}, leave: () => void seen.push("left") })
    let admit = () => {}
    const presence = { progressed: () => {}, leave: () => {} }
    // The entry uses these services alone.
    const services = {
      interruptions: {
        note: (_: unknown, { isAlone }: Interruption.Interruption) => Effect.sync(() => seen.push(`alone: ${isAlone}`))
      },
      quarantine: {
        request: (isSuspect: boolean, enter: () => void) => (
          (admit = enter),
          seen.push(`suspect: ${isSuspect}`),
          presence
        )
      },
      patiently: () => identity
    } as unknown as TurnServices
    const entering = yield* Effect.forkChild(InterruptedTurns.enter(services, new Session(conversationId(1)), turn), {
      startImmediately: true
    })
    assert.deepStrictEqual(seen, ["suspect: true", "left"])
    admit()
    assert.deepStrictEqual([yield* Fiber.join(entering), seen], [undefined, ["suspect: true", "left", "alone: true"]])
  })
)
