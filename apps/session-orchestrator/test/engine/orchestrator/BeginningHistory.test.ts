/** Tests the history that an accepted turn begins with. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Deferred, Effect, Fiber, Option } from "effect"
import type { Store } from "../../../src/storage/Store.ts"
import { asking, withService } from "../conversation/ConversationSetup.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as Logged from "../../storage/Logged.ts"

const { answer } = ScriptedProvider

const settled = Effect.repeat(Effect.yieldNow, { times: 200 })

describe("a prompt", () => {
  it.effect("has the answer of a turn that the start takes up, though its prompt arrives before", () => {
    const read = Deferred.makeUnsafe<void>()
    const isEnded = (real: Store["Service"]) =>
      Effect.map(real.turn(NumberedData.turnId(1)), (turn) => Option.getOrThrow(turn).end !== undefined)
    return withService(
      {
        scripts: [answer("one"), answer("two")],
        log: (real) => ({ tail: (of) => Effect.andThen(Deferred.await(read), real.tail(of)) }),
        store: (real) => ({
          // Slow: the turn ends and leaves meanwhile.
          conversation: (id) =>
            Effect.tap(real.conversation(id), () =>
              Effect.andThen(
                Effect.repeat(Effect.andThen(Effect.yieldNow, isEnded(real)), { until: (isOver) => isOver }),
                settled
              )
            )
        })
      },
      function* ({ conversations, provider, store }) {
        const { conversationId } = NumberedData.conversation(1)
        yield* store.createConversation({ ...NumberedData.conversation(1), model: "test/m" })
        yield* Logged.accept(NumberedData.turn(1, 1), { isOpened: true })
        const prompt = yield* asking(conversations.prompt(conversationId, { prompt: "Two?" }))
        yield* settled
        yield* Deferred.succeed(read, undefined)
        yield* conversations.result(yield* Fiber.join(prompt))
        assert.strictEqual(provider.requests.length, 2)
        assert.deepStrictEqual(provider.requests[1]?.messages, (yield* Logged.history(conversationId)).slice(0, 3))
      }
    )
  })
})
