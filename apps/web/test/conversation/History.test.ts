import type { ConversationView } from "@holdfast/client"
import { Ids } from "@holdfast/wire"
import { expect, it } from "vitest"
import { shownOf } from "../../src/conversation/History.tsx"

type Event = ConversationView.HistoryEvent

const common = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }
const ended: Event = { ...common, type: "retry-end", attempt: 0, success: true }

const message = (type: "text" | "tool-call"): Event => ({
  ...common,
  type: "message",
  message: {
    turnId: common.turnId,
    id: Ids.MessageId.make("t.1"),
    role: "assistant",
    target: { provider: "a", model: "m" },
    finishReason: type === "text" ? "stop" : "tool-calls",
    createdAt: 0,
    content: [type === "text" ? { type, text: "Hello" } : { type, toolCallId: "c1", toolName: "read_file", input: {} }]
  }
})

it("the end of a question about tool calls is no retry; the end of retries has its entry", () => {
  const asked = message("tool-call")
  expect(shownOf([ended, asked, ended, message("text"), ended])).toEqual([ended, asked, message("text"), ended])
})
