/** Tests deletions of conversations that have a turn. */
import { assert } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import * as Removal from "../../../src/engine/orchestrator/Removal.ts"
import { Deletions } from "../../../src/storage/Deletions.ts"
import * as It from "../../It.ts"

It.effect("a turn that another process runs keeps its conversation, after six tries to end it", function* () {
  const seen: Array<string> = []
  const see = <A>(what: string, as: A) => Effect.sync(() => (seen.push(what), as))
  const removing = (outcome: "busy" | "deleted" | "missing", ends: boolean) =>
    Effect.flatMap(Removal.Removal, ({ remove }) => remove(Ids.ConversationId.make("c"))).pipe(
      Effect.provide(Removal.layer),
      Effect.provide(
        Layer.mock(Conversations, { abort: () => see("abort", ends), endStreams: () => see("streams", undefined) })
      ),
      Effect.provide(
        Layer.mock(Deletions, { conversation: () => see("delete", outcome), scrub: see("scrub", undefined) })
      )
    )
  const { message } = yield* Effect.flip(removing("busy", false))
  assert.match(message, /^Conversation c has a turn that another process runs, and was not deleted/)
  assert.strictEqual(seen.splice(0).filter((what) => what === "abort").length, 6)
  assert.strictEqual((yield* Effect.flip(removing("missing", false)))._tag, "ConversationNotFound")
  seen.length = 0
  yield* removing("deleted", true)
  assert.deepStrictEqual(seen, ["delete", "streams", "scrub"])
})

It.effect("a deletion waits five seconds for the ends of its streams", function* () {
  const ending = yield* Effect.forkChild(Removal.ended(Effect.never), { startImmediately: true })
  yield* TestClock.adjust(4_999)
  assert.isUndefined(ending.pollUnsafe())
  yield* TestClock.adjust(1)
  assert.strictEqual(ending.pollUnsafe()?._tag, "Success")
})
