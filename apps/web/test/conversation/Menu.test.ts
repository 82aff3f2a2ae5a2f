import { expect, it } from "vitest"
import { transcript } from "../../src/conversation/Menu.tsx"

type Messages = Parameters<typeof transcript>[1]

it("a conversation as Markdown has each message below who wrote it", () => {
  const messages = [
    {
      role: "user",
      content: [
        { type: "text", text: "Why?" },
        { type: "file", mediaType: "image/png", name: "a.png" }
      ]
    },
    {
      role: "assistant",
      target: "a/m",
      content: [{ type: "tool-call", toolName: "read", toolCallId: "1", input: {} }]
    },
    { role: "assistant", content: [{ type: "text", text: "Because." }] },
    { role: "assistant", content: [] }
  ] as unknown as Messages // the parts that are read
  expect(transcript("Sky", messages)).toBe(
    "# Sky\n\n## You\n\nWhy?\n\n[a.png]\n\n## a/m\n\nCall of `read`\n\n## Answer\n\nBecause.\n"
  )
})
