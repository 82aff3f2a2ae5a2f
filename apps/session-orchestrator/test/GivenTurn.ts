/** Events of one turn, for tests. */
import { Ids, type TurnEvent } from "@holdfast/wire"

export const ids = { conversationId: Ids.ConversationId.make("c"), turnId: Ids.TurnId.make("t") }

export const delta = (text: string): TurnEvent.TextDelta => ({ type: "text-delta", ...ids, delta: text })

export const answer = (text: string, n = 0): TurnEvent.MessageEvent => ({
  type: "message",
  ...ids,
  message: {
    role: "assistant",
    id: Ids.messageIdOf(ids.turnId, n),
    turnId: ids.turnId,
    createdAt: 0,
    content: [{ type: "text", text }],
    target: { provider: "anthropic", model: "claude" }
  }
})

export const retry = (over: Partial<TurnEvent.ProviderRetry> = {}): TurnEvent.ProviderRetry => ({
  type: "provider-retry",
  ...ids,
  attempt: 0,
  delayMs: 300_000,
  retryAt: 300_000,
  message: "Overloaded",
  code: "529",
  reason: "overloaded",
  target: "anthropic/claude",
  ...over
})

export const modelChange = (to: string): TurnEvent.ModelChange => ({
  type: "model-change",
  ...ids,
  from: "anthropic/claude",
  to
})

export const stepDiscarded = (message: string): TurnEvent.StepDiscarded => ({
  type: "step-discarded",
  ...ids,
  step: 0,
  message
})

export const stepStart = (step: number): TurnEvent.StepStart => ({
  type: "step-start",
  ...ids,
  step,
  target: "anthropic/claude"
})

export const end = (status: TurnEvent.TurnStatus, over: Partial<TurnEvent.TurnEnd> = {}): TurnEvent.TurnEnd => ({
  type: "turn-end",
  ...ids,
  status,
  endedAt: 0,
  steps: 1,
  attempts: 1,
  sleptMs: 0,
  usage: {},
  ...over
})
