/** Messages of a conversation with every kind of content that a request carries. */
import type { Provider } from "@holdfast/kernel"
import { Ids, type Message, type Target } from "@holdfast/wire"
import { request } from "./Dialect.ts"

const turnId = Ids.TurnId.make("t1")
let counter = 0
const common = () => ({ id: Ids.messageIdOf(turnId, counter++), turnId, createdAt: 0 })

export const own: Target.Target = { provider: "p", model: "m" }
export const other: Target.Target = { provider: "q", model: "m" }

export const user = (text: string): Message.Message => ({
  role: "user",
  ...common(),
  content: [{ type: "text", text }]
})

/** A prompt with files. */
export const prompt = (...content: ReadonlyArray<Message.InputPart>): Message.Message => ({
  role: "user",
  ...common(),
  content
})

export const assistant = (
  target: Target.Target,
  ...content: ReadonlyArray<Message.AssistantPart>
): Message.Message => ({
  role: "assistant",
  ...common(),
  target,
  content
})

export const tool = (
  ...results: ReadonlyArray<Omit<Message.ToolResultPart, "type" | "toolName">>
): Message.Message => ({
  role: "tool",
  ...common(),
  content: results.map((result) => ({ type: "tool-result", toolName: "read", ...result }))
})

export const call = (toolCallId: string, more: Partial<Message.ToolCallPart> = {}): Message.ToolCallPart => ({
  type: "tool-call",
  toolCallId,
  toolName: "read",
  input: { path: "x" },
  ...more
})

export const asking = (
  messages: ReadonlyArray<Message.Message>,
  more: Partial<Provider.ProviderRequest> = {}
): Provider.ProviderRequest => ({ ...request, messages, ...more })
