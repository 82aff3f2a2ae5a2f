/** Tests `@holdfast/client/effect` against the whole service. */
import { assert, describe } from "@effect/vitest"
import { ConversationView } from "@holdfast/client"
import * as EffectClient from "@holdfast/client/effect"
import { Effect, Fiber, Option, Stream } from "effect"
import { Agent, fetch } from "undici"
import * as SimulatedService from "./SimulatedService.ts"
import * as It from "../It.ts"

const { prompt } = SimulatedService

const start = Effect.fnUntraced(function* (options?: SimulatedService.Options) {
  const { port } = yield* SimulatedService.start(options)
  const dispatcher = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent()),
    (agent) => Effect.promise(() => agent.destroy())
  )
  return yield* EffectClient.make({
    url: `http://127.0.0.1:${port}`,
    fetch: (url, init) => fetch(url, { ...init, dispatcher }),
    retryForMs: 500
  })
})

describe("the client as Effects and Streams", () => {
  It.live("runs a turn, follows it as a stream, and lists it", function* () {
    const client = yield* start()
    const conversation = yield* client.createConversation()
    const turn = yield* conversation.prompt(prompt("529+instant"), { tags: ["mine"] })
    const events = yield* Stream.runCollect(turn.events())
    assert.strictEqual(events.at(-1)?.type, "turn-end")
    const { text } = yield* turn.result
    const view = yield* conversation.views().pipe(
      Stream.filter(({ turn }) => turn?.status === "completed"),
      Stream.runHead
    )
    assert.deepStrictEqual(ConversationView.messagesOf(Option.getOrThrow(view)), yield* conversation.getMessages)
    const [listed] = yield* Stream.runCollect(client.listTurns({ tag: "mine" }))
    assert.strictEqual(listed?.turnId, turn.id)
    assert.strictEqual((yield* turn.getState).text, text)
  })

  It.live("an interruption ends a stream and a call, and not the turn", function* () {
    const client = yield* start({ retry: SimulatedService.LONG })
    const conversation = yield* client.createConversation()
    const turn = yield* conversation.prompt(prompt("529+instant"))
    yield* Fiber.interrupt(yield* Effect.forkChild(turn.result, { startImmediately: true }))
    const waits = conversation.views().pipe(Stream.filter(({ retry }) => retry !== undefined))
    assert.isTrue(Option.isSome(yield* Stream.runHead(waits)))
    yield* conversation.retryNow()
    assert.strictEqual((yield* turn.result).status, "completed")
  })

  It.live("a refusal is in the error channel, with its code", function* () {
    const client = yield* start()
    const call = yield* Effect.flip(client.conversation("c_none").getState)
    assert.strictEqual(call.code, "conversation-not-found")
    const stream = yield* Effect.flip(Stream.runDrain(client.turn("t_none").events()))
    assert.strictEqual(stream.code, "turn-not-found")
  })
})
