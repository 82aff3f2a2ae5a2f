import { ConversationView } from "@holdfast/client"
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, it, vi } from "vitest"
import type { Stoppable } from "../../src/conversation/TurnButtons.tsx"

/** The page's modules read the address that they were loaded from. */
vi.stubGlobal("location", { origin: "http://127.0.0.1:4747" })
const { TurnButtons, questionOf } = await import("../../src/conversation/TurnButtons.tsx")
vi.unstubAllGlobals()

const labels = (canRetry: boolean, running?: Stoppable): ReadonlyArray<string> => {
  const buttons = createElement(TurnButtons, { conversationId: "c", running, canRetry })
  const page = renderToStaticMarkup(createElement(QueryClientProvider, { client: new QueryClient() }, buttons))
  return Array.from(page.matchAll(/<button[^>]*>([^<]*)</g), ([, label = ""]) => label)
}

it("rule M2: the page has a retry button after an error or an abort, and at no other time", () => {
  const ended = (status: "completed" | "failed" | "aborted") =>
    labels(ConversationView.canRetry({ ...ConversationView.empty, turn: { turnId: "t", status, end: undefined } }))
  expect(ended("failed")).toEqual(["Retry"])
  expect(ended("aborted")).toEqual(["Retry"])
  expect(ended("completed")).toEqual([])
  expect(labels(ConversationView.canRetry(ConversationView.empty))).toEqual([])
})

it("the button that stops a turn asks first where prompts are queued behind it, and says that they stay", () => {
  const running = { turnId: "t", prompt: "Sort the inbox.", queued: 0 }
  expect(labels(false, running)).toEqual(["Stop this turn"])
  expect(labels(false, { ...running, queued: 1 })).toEqual(["Stop this turn …"])
  expect(questionOf({ ...running, queued: 1 })).toBe(
    "Stop the answer to “Sort the inbox.”? The 1 prompt queued behind it stays, and runs next."
  )
  expect(questionOf({ ...running, prompt: undefined, queued: 3 })).toBe(
    "Stop the turn that runs now? The 3 prompts queued behind it stay, and the first of them runs next."
  )
})
