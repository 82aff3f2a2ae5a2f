/** Makes a request as a kernel does. */
import type { Provider } from "@holdfast/kernel"
import { Ids, type Message } from "@holdfast/wire"

export interface Asked {
  readonly model: string
  readonly prompt?: string
  readonly turn?: string
  readonly step?: number
  readonly attempt?: number
  readonly createdAt?: number
  readonly tools?: Provider.ProviderRequest["tools"]
  /** The messages after the prompt. */
  readonly then?: ReadonlyArray<Message.Message>
}

export const request = (asked: Asked): Provider.ProviderRequest => {
  const turnId = Ids.TurnId.make(asked.turn ?? "turn-1")
  const prompt: Message.UserMessage = {
    role: "user",
    id: Ids.messageIdOf(turnId, 0),
    turnId,
    createdAt: asked.createdAt ?? 0,
    content: [{ type: "text", text: asked.prompt ?? "Is anybody there?" }]
  }
  return {
    conversationId: Ids.ConversationId.make("conversation-1"),
    turnId,
    step: asked.step ?? 0,
    attempt: asked.attempt ?? 0,
    target: { provider: "simulated", model: asked.model },
    messages: [prompt, ...(asked.then ?? [])],
    tools: asked.tools ?? []
  }
}
