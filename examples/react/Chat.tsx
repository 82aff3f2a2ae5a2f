/** A chat that shows a wait as a countdown, and takes back text that a lost connection made void. The route is that of `src/15-chat-ui.ts`. */
import { useChat } from "@ai-sdk/react"
import type { UiMessageData, UiMessageMetadata } from "@holdfast/ai-sdk"
import type { UIMessage } from "ai"
import { useEffect, useState } from "react"

type ChatMessage = UIMessage<UiMessageMetadata, UiMessageData>
type Wait = UiMessageData["provider-retry"]

export const Chat = () => {
  const [wait, setWait] = useState<Wait>()
  const [notice, setNotice] = useState<string>()
  const { error, messages, sendMessage, status, stop } = useChat<ChatMessage>({
    onData: (part) => {
      if (part.type === "data-provider-retry") setWait(part.data)
      if (part.type === "data-retry-end") setWait(undefined)
      if (part.type === "data-step-discarded") setNotice(part.data.message) // the AI SDK has taken the text back
    },
    onFinish: () => setWait(undefined)
  })
  const send = (form: FormData) => {
    setNotice(undefined)
    void sendMessage({ text: String(form.get("prompt")) })
  }
  return (
    <main>
      {messages.map(({ id, parts, role }) => (
        <article key={id} data-role={role}>
          {parts.map((part, at) => {
            if (part.type === "text") return <p key={at}>{part.text}</p>
            if (part.type === "reasoning") return <i key={at}>{part.text}</i>
            if (part.type === "dynamic-tool") return <code key={at}>{`${part.toolName}: ${part.state}`}</code>
            return null
          })}
        </article>
      ))}
      {wait === undefined ? null : <Countdown wait={wait} />}
      {notice === undefined ? null : <p role="status">{notice}</p>}
      {error === undefined ? null : <p role="alert">{error.message}</p>}
      <form action={send}>
        <input name="prompt" />
        {status === "ready" || status === "error" ? (
          <button>Send</button>
        ) : (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
    </main>
  )
}

/** Counts down to the retry: `retryAt` is absolute, so a tab that slept shows the true time left. */
const Countdown = ({ wait: { attempt, code, message, retryAt } }: { readonly wait: Wait }) => {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.ceil((retryAt - now) / 1_000))
  return (
    <p role="status" style={{ color: "goldenrod" }}>
      {message} {code === undefined ? "" : `(${code})`} Retry {attempt + 1} in {seconds} s
    </p>
  )
}
