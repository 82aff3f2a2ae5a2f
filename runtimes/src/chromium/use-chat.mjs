/** The program of a page with the real `useChat`: `/page?api=URL`. It sends one message; what it shows are the lines that it prints. */
import { useChat } from "@ai-sdk/react"
import { DefaultChatTransport } from "ai"
import { createElement, useEffect } from "react"
import { createRoot } from "react-dom/client"

const api = new URLSearchParams(location.search).get("api")
const transport = new DefaultChatTransport({ api })

let printed = Promise.resolve()
const print = (what) =>
  (printed = printed.then(() => fetch("/printed", { method: "POST", body: JSON.stringify(what) })))

const Page = () => {
  const { messages, resumeStream, sendMessage, status } = useChat({
    id: "page-1",
    transport,
    onData: ({ data, type }) => void print({ type, retryAt: data.retryAt }),
    // The connection broke; the turn goes on.
    onError: (error) => {
      void print({ type: "lost", message: error.message })
      if (error instanceof TypeError) setTimeout(resumeStream, 300)
    }
  })
  useEffect(() => void sendMessage({ text: "How is the weather?" }), [sendMessage])
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
