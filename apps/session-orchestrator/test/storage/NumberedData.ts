/** Makes conversations, turns and events by number, for storage tests. */
import { Ids, Message, type TurnEvent } from "@holdfast/wire"
import { Effect } from "effect"
import { Store } from "../../src/storage/Store.ts"
import { type Conversation, storedPrompt, type Turn } from "../../src/storage/Stored.ts"
import * as Logged from "./Logged.ts"

export const conversationId = (n: number): Ids.ConversationId => Ids.ConversationId.make(`conversation-${n}`)
export const turnId = (n: number): Ids.TurnId => Ids.TurnId.make(`turn-${n}`)

export const conversation = (n: number, change: Partial<Conversation> = {}): Conversation => ({
  conversationId: conversationId(n),
  model: "simulated/steady",
  system: undefined,
  retry: undefined,
  autoRetryEnabled: true,
  createdAt: 1_760_000_000_000 + n,
  ...change
})

/** Turn `n` of conversation `of`. */
export const turn = (n: number, of: number, change: Partial<Omit<Turn, "end">> = {}): Omit<Turn, "end"> => ({
  turnId: turnId(n),
  conversationId: conversationId(of),
  prompt: `prompt ${n}`,
  acceptedAt: 1_760_000_000_000 + n,
  ...change
})

/** A prompt with an image, as a turn has it. */
export const withImage = storedPrompt([
  { type: "text", text: 'What is "it"?\nSay.' },
  { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "\u{1f6f6}.png" }
])

/** An event with its number as `step`. */
export const usage = (n: number, of: number, step: number): TurnEvent.UsageEvent => ({
  conversationId: conversationId(of),
  turnId: turnId(n),
  type: "usage",
  step,
  usage: { inputTokens: 10, outputTokens: step }
})

/** The `index`th message of a turn; the first is the user's. */
export const message = (n: number, of: number, index: number): TurnEvent.MessageEvent => {
  const common = { id: Ids.messageIdOf(turnId(n), index), turnId: turnId(n), createdAt: 1_760_000_000_000 }
  const content = [{ type: "text" as const, text: `message ${index} of turn ${n}: "quoted", \u{1f6f6}, line\nbreak` }]
  return {
    conversationId: conversationId(of),
    turnId: turnId(n),
    type: "message",
    message:
      index === 0
        ? { role: "user", ...common, content }
        : { role: "assistant", ...common, content, target: { provider: "simulated", model: "steady" } }
  }
}

export const end = (n: number, of: number): TurnEvent.TurnEnd => ({
  conversationId: conversationId(of),
  turnId: turnId(n),
  type: "turn-end",
  status: "completed",
  endedAt: 1_760_000_001_000,
  steps: 1,
  attempts: 3,
  sleptMs: 15_000,
  usage: { inputTokens: 10 }
})

/** A store with conversation 1. */
export const oneConversation = Effect.tap(Store, (store) => store.createConversation(conversation(1)))

/** A store with conversation 1 and, in it, turn 1. */
export const oneTurn = Effect.tap(oneConversation, Logged.accept(turn(1, 1)))

export const textOf = Message.textOf
