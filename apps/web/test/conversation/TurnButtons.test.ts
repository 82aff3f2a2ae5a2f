import { ConversationView } from "@holdfast/client"
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import { expect, it, vi } from "vitest"

/** The page's modules read the address that they were loaded from. */
vi.stubGlobal("location", { origin: "http://127.0.0.1:4747" })
const { TurnButtons } = await import("../../src/conversation/TurnButtons.tsx")
vi.unstubAllGlobals()

const labels = (view: ConversationView.ConversationView): ReadonlyArray<string> => {
  const buttons = createElement(TurnButtons, {
    conversationId: "c",
    status: view.status,
    canRetry: ConversationView.canRetry(view)
  })
  const page = renderToStaticMarkup(createElement(QueryClientProvider, { client: new QueryClient() }, buttons))
  return Array.from(page.matchAll(/<button[^>]*>([^<]*)</g), ([, label = ""]) => label)
}

it("rule M2: the page has a retry button after an error or an abort, and at no other time", () => {
  const ended = (status: "completed" | "failed" | "aborted") =>
    labels({ ...ConversationView.empty, turn: { turnId: "t", status, end: undefined } })
  expect(ended("failed")).toEqual(["Retry"])
  expect(ended("aborted")).toEqual(["Retry"])
  expect(ended("completed")).toEqual([])
  expect(labels(ConversationView.empty)).toEqual([])
  expect(labels({ ...ConversationView.empty, status: "running" })).toEqual(["Stop"])
  expect(labels({ ...ConversationView.empty, status: "retrying" })).toEqual(["Stop"])
})
