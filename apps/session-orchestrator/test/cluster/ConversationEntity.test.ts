import { assert, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Context, Schema } from "effect"
import { ClusterSchema } from "effect/cluster"
import { ConversationEntity, Result } from "../../src/cluster/ConversationEntity.ts"

it("ConversationEntity.E1, E3: every message is volatile, and is interrupted when its owner has to go", () => {
  const messages = Array.from(ConversationEntity.protocol.requests.values())
  assert.isAbove(messages.length, 10)
  for (const { _tag, annotations } of messages) {
    assert.isTrue(Context.get(annotations, ClusterSchema.InterruptOnTermination), _tag)
    assert.isFalse(Context.get(annotations, ClusterSchema.Persisted), _tag)
  }
})

it("the stop of a turn reaches another runner as itself, with what stopped it", () => {
  const codec = Schema.toCodecJson(Result.errorSchema)
  for (const stopped of [
    new TurnStopped.TurnStopped({ message: "The disk is full." }),
    TurnStopped.ofDefect("a bug")
  ]) {
    const encoded = Schema.encodeSync(codec)(stopped)
    assert.deepInclude(encoded, { _tag: "TurnStopped", message: stopped.message })
    const arrived = Schema.decodeSync(codec)(JSON.parse(JSON.stringify(encoded)))
    assert.instanceOf(arrived, TurnStopped.TurnStopped)
    assert.deepStrictEqual(arrived, stopped)
  }
})
