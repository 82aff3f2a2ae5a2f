/** Counts the reads of a just accepted turn: its watchers get it from memory. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Effect, Stream } from "effect"
import { Ids } from "@holdfast/wire"
import type { Store } from "../../../src/storage/Store.ts"
import { asking, watching, withService } from "../conversation/ConversationSetup.ts"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"

const id = (name: string) => Ids.TurnId.make(name)

/** Counts the reads of a store. */
const counted = () => {
  const reads: Array<string> = []
  const count =
    <Args extends ReadonlyArray<unknown>, A, E>(name: string, read: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        reads.push(name)
        return read(...args)
      })
  const store = (real: Store["Service"]): Partial<Store["Service"]> => ({
    conversation: count("conversation", real.conversation),
    turn: count("turn", real.turn),
    turnEvents: count("turnEvents", real.turnEvents)
  })
  const log = (real: TurnLog["Service"]): Partial<TurnLog["Service"]> => ({
    events: (id, after) =>
      Stream.unwrap(
        Effect.sync(() => {
          reads.push("events")
          return real.events(id, after)
        })
      )
  })
  return { log, reads, store }
}

const hangs = { reads: [[{ type: "text-delta", delta: "Hel" } as const]], end: Effect.never }

describe("a turn that was just accepted", () => {
  it.effect("is watched, as a turn and as a conversation, without any read", () => {
    const { log, reads, store } = counted()
    return withService({ scripts: [hangs], log, store }, ({ conversations }) =>
      Effect.gen(function* () {
        const conversationId = yield* conversations.create({})
        yield* conversations.prompt(conversationId, { prompt: "Hello", turnId: id("a") })
        assert.deepStrictEqual(reads.splice(0), ["conversation"])

        const turn = yield* watching(conversations.watchTurn(id("a"), conversationId))
        yield* turn.until("text-delta")
        const conversation = yield* watching(conversations.watch(conversationId, 0))
        yield* conversation.until("text-delta")
        const ended = yield* asking(conversations.result(id("a"), conversationId))
        assert.strictEqual((yield* conversations.state(conversationId)).status, "running")
        assert.deepStrictEqual(turn.types(), ["turn-start", "message", "step-start", "text-delta"])
        assert.deepStrictEqual(conversation.types(), turn.types())

        // A turn behind it needs no read either.
        yield* conversations.prompt(conversationId, { prompt: "And then?", turnId: id("b") })
        const behind = yield* watching(conversations.watchTurn(id("b"), conversationId))
        assert.isUndefined(ended.pollUnsafe())
        assert.deepStrictEqual(behind.types(), [])
        assert.deepStrictEqual(reads, [])
      })
    )
  })

  it.effect("is read from disk once it has ended, or if its conversation is not given", () => {
    const { log, reads, store } = counted()
    return withService({ scripts: [ScriptedProvider.answer("Hello"), hangs], log, store }, ({ conversations }) =>
      Effect.gen(function* () {
        const conversationId = yield* conversations.create({})
        yield* conversations.prompt(conversationId, { prompt: "Hello", turnId: id("a") })
        yield* conversations.result(id("a"))
        reads.length = 0
        const ended = yield* watching(conversations.watchTurn(id("a"), conversationId))
        yield* ended.until("turn-end")
        assert.include(reads, "turnEvents")

        yield* conversations.prompt(conversationId, { prompt: "And then?", turnId: id("b") })
        reads.length = 0
        const running = yield* watching(conversations.watchTurn(id("b")))
        yield* running.until("text-delta")
        assert.deepStrictEqual(reads, ["turn"])
        assert.deepStrictEqual(running.types().slice(0, 2), ["turn-start", "message"])
      })
    )
  })

  it.effect("rule P15: shows a switch that is changed after its conversation was read", () => {
    const { log, reads, store } = counted()
    return withService({ scripts: [hangs], log, store }, ({ conversations }) =>
      Effect.gen(function* () {
        const conversationId = yield* conversations.create({})
        yield* conversations.prompt(conversationId, { prompt: "Hello", turnId: id("a") })
        reads.length = 0
        assert.isTrue((yield* conversations.state(conversationId)).autoRetryEnabled)
        yield* conversations.change({ type: "set-auto-retry", conversationId, enabled: false })
        assert.isFalse((yield* conversations.state(conversationId)).autoRetryEnabled)
        assert.deepStrictEqual(reads, [])
      })
    )
  })
})
