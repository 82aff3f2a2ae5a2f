/**
 * A turn for `useChat` of the AI SDK: the wait shows as a countdown (`react/Chat.tsx`), and the answer comes once. The route and the client run in
 * this process; the model is overloaded once, then answers.
 *
 * Run it: `npx pnpm@12 exec node examples/src/15-chat-ui.ts`
 */
import { Chat } from "@ai-sdk/react"
import type { UiMessageData, UiMessageMetadata } from "@holdfast/ai-sdk"
import { DefaultChatTransport, type UIMessage } from "ai"

let calls = 0

/** Fails once, then answers. A real one is `model(openai("gpt-5"))`, or a name such as "openai/gpt-5". */
async function* myModel() {
  if (calls++ === 0) throw Object.assign(new Error("Overloaded"), { status: 529 })
  yield* ["Still ", "here."]
}

// #region route
import { uiMessageResponse } from "@holdfast/ai-sdk"
import { holdfast } from "holdfast"

const hf = holdfast({ model: myModel, retry: "interactive" })

export const POST = async (request: Request): Promise<Response> => {
  const { id, messages } = (await request.json()) as { id: string; messages: ReadonlyArray<UIMessage> }
  const prompt = messages.at(-1)?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])) ?? []
  return uiMessageResponse(hf.turn(prompt.join(""), { conversation: id })) // its history is Holdfast's
}
// #endregion route

const chat = new Chat<UIMessage<UiMessageMetadata, UiMessageData>>({
  transport: new DefaultChatTransport({
    fetch: (url, init) => POST(new Request(new URL(String(url), "http://localhost"), init as RequestInit))
  }),
  onData: (part) => {
    if (part.type === "data-provider-retry")
      console.log(`${part.data.message}: again at ${new Date(part.data.retryAt).toISOString()}`)
  }
})
await chat.sendMessage({ text: "Are you there?" })
console.log(JSON.stringify(chat.lastMessage?.parts))
