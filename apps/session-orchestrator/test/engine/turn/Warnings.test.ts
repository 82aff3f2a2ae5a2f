import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@holdfast/wire"
import * as GivenTurn from "../../GivenTurn.ts"
import * as Warnings from "../../../src/engine/driver/Warnings.ts"

const turn = GivenTurn.ids

const warningsOf = (...content: ReadonlyArray<Message.AssistantPart>) => {
  const { message, ...event } = GivenTurn.answer("")
  return message.role === "assistant" ? Warnings.of({ ...event, message: { ...message, content } }) : assert.fail()
}

describe("the log warns of", () => {
  it("rule A11: a turn that has come to its last step", () => {
    const [line, ...more] = Warnings.of({ ...turn, type: "final-turn", step: 9, cause: "max-turns" })
    assert.deepStrictEqual(more, [])
    assert.match(line ?? "", /step 10 .*max-turns/)
    // The event does not contain whether a report is required.
    assert.include(line, "except the final report if one is required")
  })

  it("rule A12: a report that shortened the turn, with the old limit and the new one", () => {
    const final = { ...turn, type: "final-turn", step: 2, cause: "malformed-report" } as const
    const [line] = Warnings.of({ ...final, shortenedFrom: 10 })
    assert.match(line ?? "", /^agent:orchestrator: .* maxTurns is 3 instead of 10\.$/)
    assert.match(Warnings.of(final)[0] ?? "", /^agent:orchestrator: .* maxTurns is 3 instead of unlimited\.$/)
    assert.lengthOf(Warnings.of({ ...final, cause: "max-turns" }), 1)
  })

  it("rule A9: an invalid response that is requested again, with the guidance to the model", () => {
    const [line] = Warnings.of({ ...turn, type: "synthetic-retry", step: 0, guidance: "TURN-FAILED: No report." })
    assert.match(line ?? "", /response of step 1 .* TURN-FAILED: No report\.$/)
  })

  it("rule A14: a turn that ended without its report, with the replacement, and of no other end", () => {
    const end = GivenTurn.end("failed")
    const report = { source: "synthetic", success: false, content: { reason: "auth", context: "no key" } } as const
    const [line] = Warnings.of({ ...end, report })
    assert.match(line ?? "", /^agent:failure-report: .*"reason":"auth","context":"no key"/)
    assert.deepStrictEqual(Warnings.of(end), [])
    assert.deepStrictEqual(Warnings.of({ ...end, report: { ...report, source: "tool-call", success: true } }), [])
  })

  it("rule A10: a tool call with unreadable arguments, with all of them", () => {
    const input = `{"path": "${"x".repeat(5_000)}`
    const [line] = warningsOf({
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
    assert.deepStrictEqual(warningsOf({ type: "text", text: "Hello" }), [])
    assert.deepStrictEqual(warningsOf({ type: "tool-call", toolCallId: "1", toolName: "write", input: {} }), [])
    assert.deepStrictEqual(Warnings.of({ ...turn, type: "turn-start", startedAt: 0 }), [])
  })
})
