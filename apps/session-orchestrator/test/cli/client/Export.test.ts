import { expect, it } from "@effect/vitest"
import { Ids, type Message } from "@holdfast/wire"
import * as Export from "../../../src/cli/client/Export.ts"

const turnId = Ids.TurnId.make("t")
const common = (n: number) => ({ id: Ids.messageIdOf(turnId, n), turnId, createdAt: 0 })

const conversation = { conversationId: Ids.ConversationId.make("c"), model: "a/b", createdAt: 0, isBusy: false }

const messages: ReadonlyArray<Message.Message> = [
  { role: "user", ...common(0), content: [{ type: "text", text: "Why?" }] },
  {
    role: "assistant",
    ...common(1),
    target: { provider: "a", model: "b" },
    content: [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "I look." },
      { type: "tool-call", toolCallId: "1", toolName: "read", input: { file: "x" } }
    ]
  },
  {
    role: "tool",
    ...common(2),
    content: [{ type: "tool-result", toolCallId: "1", toolName: "read", output: "```\nnone\n```", isError: true }]
  },
  { role: "user", ...common(3), content: [{ type: "text", text: "TURN-FAILED" }], synthetic: true },
  {
    role: "assistant",
    ...common(4),
    target: { provider: "a", model: "b" },
    content: [],
    error: { reason: "network", message: "reset", retryable: true }
  }
]

it("rule X15: a conversation as Markdown has each message, its calls and their results, and where it broke off", () => {
  const at = "1970-01-01T00:00:00.000Z"
  expect(Export.inMarkdown({ ...conversation, tags: ["x", "y"] }, messages).split("\n\n")).toEqual([
    "# c",
    `${at} | a/b | tags: x, y`,
    `## User, ${at}`,
    "Why?",
    `## a/b, ${at}`,
    "I look.",
    "Calls `read`:",
    '```\n{\n  "file": "x"\n}\n```',
    `## Tool read, ${at}, failed`,
    "````\n```\nnone\n```\n````",
    `## Holdfast, ${at}`,
    "TURN-FAILED",
    `## a/b, ${at}`,
    "Failed: reset\n"
  ])
  const [, brokenOff] = messages
  if (brokenOff?.role !== "assistant") return expect.fail("it is an answer")
  const error = { reason: "network", message: "reset", retryable: true } as const
  expect(Export.inMarkdown(conversation, [{ ...brokenOff, error }])).toContain("\n\nBroke off: reset\n")
})

it("a conversation as Markdown is headed by its title, with its id and its metadata beneath", () => {
  const titled = { ...conversation, title: "Failures\nof last week", metadata: { ticket: 7 } }
  expect(Export.inMarkdown(titled, []).split("\n\n")).toEqual([
    "# Failures of last week",
    "c | 1970-01-01T00:00:00.000Z | a/b",
    '```\n{\n  "ticket": 7\n}\n```\n'
  ])
})
