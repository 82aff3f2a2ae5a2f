/**
 * The program of a page with the real `useChat`: `/page?api=URL`. It sends one message; what it shows are the lines that it prints. With `partial`, the id of
 * a turn, it is the page after a reload: it has a part of the answer, and resumes.
 */
import { useChat } from "@ai-sdk/react"
import { DefaultChatTransport } from "ai"
import { createElement, useEffect } from "react"
import { createRoot } from "react-dom/client"

const given = new URLSearchParams(location.search)
const api = given.get("api")
const partial = given.get("partial")
const QUESTION = { id: "question", role: "user", parts: [{ type: "text", text: "How is the weather?" }] }
const transport = new DefaultChatTransport({ api })

let printed = Promise.resolve()
const print = (what) =>
  (printed = printed.then(() => fetch("/printed", { method: "POST", body: JSON.stringify(what) })))

const Page = () => {
  const { messages, resumeStream, sendMessage, status } = useChat({
    id: "page-1",
    transport,
    resume: partial !== null,
    messages:
      partial === null ? [] : [QUESTION, { id: partial, role: "assistant", parts: [{ type: "text", text: "It r" }] }],
    onData: ({ data, type }) => void print({ type, retryAt: data.retryAt }),
    // The connection broke; the turn goes on.
    onError: (error) => {
      void print({ type: "lost", message: error.message })
      if (error instanceof TypeError) setTimeout(resumeStream, 300)
    }
  })
  useEffect(() => {
    if (partial === null) void sendMessage({ text: "How is the weather?" })
  }, [sendMessage])
  const parts = messages.flatMap(({ parts, role }) => (role === "assistant" ? parts : []))
  const shown = {
    type: "shown",
    status,
    ids: messages.map(({ id }) => id),
    text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|"),
    tools: parts.flatMap((part) => (part.type === "dynamic-tool" ? [`${part.toolName} ${part.state}`] : [])),
    end: messages.at(-1)?.metadata?.status
  }
  const line = JSON.stringify(shown)
  useEffect(() => void print(JSON.parse(line)), [line])
  return createElement("pre", undefined, line)
}

const root = document.createElement("main")
document.body.append(root)
createRoot(root).render(createElement(Page))
