import { assert, it } from "@effect/vitest"
import { Context } from "effect"
import { ClusterSchema } from "effect/cluster"
import { ConversationEntity } from "../../src/cluster/ConversationEntity.ts"

it("ConversationEntity.E1, E3: every message is volatile, and is interrupted when its owner has to go", () => {
  const messages = Array.from(ConversationEntity.protocol.requests.values())
  assert.isAbove(messages.length, 10)
  for (const { _tag, annotations } of messages) {
    assert.isTrue(Context.get(annotations, ClusterSchema.InterruptOnTermination), _tag)
    assert.isFalse(Context.get(annotations, ClusterSchema.Persisted), _tag)
  }
})
