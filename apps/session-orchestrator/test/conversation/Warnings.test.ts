import { assert, describe, it } from "@effect/vitest"
import { Ids, type Message } from "@holdfast/wire"
import * as Warnings from "../../src/conversation/Warnings.ts"

const turn = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

const said = (...content: ReadonlyArray<Message.AssistantPart>) =>
  Warnings.of({
    ...turn,
    type: "message",
    message: {
      role: "assistant",
      id: Ids.messageIdOf(turn.turnId, 0),
      turnId: turn.turnId,
      createdAt: 0,
      content,
      target: { provider: "test", model: "m" }
    }
  })

describe("what the log warns of", () => {
  it("A11: a turn that has come to its last step", () => {
    const [line, ...more] = Warnings.of({ ...turn, type: "final-turn", step: 9, cause: "max-turns" })
    assert.deepStrictEqual(more, [])
    assert.match(line ?? "", /step 10 .*max-turns/)
    // Whether a report is asked for is not in the event.
    assert.include(line, "a final report's where one is asked for")
  })

  it("A10: a tool call whose arguments could not be read, with all of them", () => {
    const input = `{"path": "${"x".repeat(5_000)}`
    const [line] = said({
      type: "tool-call",
      toolCallId: "1",
      toolName: "write",
      input,
      malformed: "unterminated string"
    })
    assert.include(line, "write")
    assert.include(line, "unterminated string")
    assert.include(line, "x".repeat(5_000))
  })

  it("nothing else", () => {
    assert.deepStrictEqual(said({ type: "text", text: "Hello" }), [])
    assert.deepStrictEqual(said({ type: "tool-call", toolCallId: "1", toolName: "write", input: {} }), [])
    assert.deepStrictEqual(Warnings.of({ ...turn, type: "turn-start", startedAt: 0 }), [])
  })
})
