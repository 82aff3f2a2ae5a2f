import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Backlog } from "../../../src/engine/session/Backlog.ts"
import type { Frame } from "../../../src/engine/conversation/Conversations.ts"

const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

const frame = (n: number): Frame => {
  const event = { type: "text-delta", ...ids, delta: `${n} `.padEnd(8_500, "x") } as const
  return { event, json: JSON.stringify(event), id: undefined }
}

describe("a backlog", () => {
  it("Backlog.B1: keeps no frame that every reader has taken, though one of them is always behind", () => {
    const backlog = new Backlog()
    const [left, right] = [backlog.join(), backlog.join()]
    for (let n = 0; n < 10_000; n++) {
      backlog.push(frame(n))
      backlog.take(n % 2 === 0 ? left : right)
    }
    assert.isAtMost(backlog.kept, 128)
    backlog.leave(left)
    backlog.take(right)
    assert.strictEqual(backlog.kept, 0)
  })
})
