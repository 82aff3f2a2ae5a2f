import { ConversationView } from "@holdfast/client"
import { expect, it } from "vitest"
import { wordsOf } from "../../src/conversation/Announcement.tsx"

const view = (changes: Partial<ConversationView.ConversationView>) => ({ ...ConversationView.empty, ...changes })
const retry: ConversationView.ShownRetry = {
  turnId: "t",
  attempt: 2,
  retryAt: 60_000,
  dueAt: 60_000,
  delayMs: 60_000,
  message: "No.",
  code: "429",
  reason: "overloaded",
  target: "local/a"
}
const open = { state: "open" } as const

it("a wait is announced with its cause and its end, without a countdown", () => {
  const words = wordsOf({ view: view({ status: "retrying", retry }), link: open })
  expect(words).toMatch(/^The provider is overloaded\. Retry 3 at .+\.$/)
  expect(words).not.toMatch(/ in \d/)
})

it("ends and losses are announced", () => {
  const turn = (status: "completed" | "failed" | "aborted") => ({ turnId: "t", status, end: undefined })
  expect(wordsOf({ view: view({ turn: turn("completed") }), link: open })).toBe("The answer is complete.")
  expect(wordsOf({ view: view({ turn: turn("failed") }), link: open })).toContain("You can retry it")
  expect(wordsOf({ view: view({ turn: turn("aborted") }), link: open })).toBe("The turn was aborted.")
  const lost = { state: "lost", message: "", retryAt: new Date() } as const
  expect(wordsOf({ view: view({ retry }), link: lost })).toContain("connection to the service is lost")
  expect(wordsOf({ view: view({}), link: open })).toBe("")
})
