/** Example data of one turn, whose provider is overloaded once and then answers. */
import type { ConversationState } from "../ConversationState.ts"
import { ConversationId, MessageId, TurnId } from "../Ids.ts"
import type { Message } from "../Message.ts"
import * as Sse from "../codec/Sse.ts"
import { isPersisted, type TurnEvent } from "../TurnEvent.ts"
import type { TurnState } from "../TurnState.ts"

const ids = { conversationId: ConversationId.make("c_4f2k9x"), turnId: TurnId.make("t_7hq2m1") }
const target = "anthropic/claude-sonnet-4-5"
const retry = {
  attempt: 0,
  delayMs: 5000,
  retryAt: 1_901_232_005_420,
  message: "Overloaded",
  code: "529",
  reason: "overloaded"
} as const
const usage = { inputTokens: 9, outputTokens: 3 }

/** The history after the turn. */
export const messages: readonly [Message, Message] = [
  {
    role: "user",
    id: MessageId.make("t_7hq2m1.0"),
    turnId: ids.turnId,
    createdAt: 1_901_232_000_000,
    content: [{ type: "text", text: "Summarise yesterday's incidents." }]
  },
  {
    role: "assistant",
    id: MessageId.make("t_7hq2m1.1"),
    turnId: ids.turnId,
    createdAt: 1_901_232_006_900,
    content: [{ type: "text", text: "Nothing happened." }],
    target: { provider: "anthropic", model: "claude-sonnet-4-5" },
    finishReason: "stop",
    usage
  }
]

/** All events of the turn. */
const events: ReadonlyArray<TurnEvent> = [
  { type: "turn-start", ...ids, startedAt: 1_901_232_000_000 },
  {
    type: "message",
    ...ids,
    message: messages[0]
  },
  { type: "step-start", ...ids, step: 0, target },
  {
    type: "provider-retry",
    ...ids,
    ...retry,
    target
  },
  { type: "text-delta", ...ids, delta: "Nothing " },
  { type: "text-delta", ...ids, delta: "happened." },
  { type: "retry-end", ...ids, attempt: 0, success: true },
  { type: "usage", ...ids, step: 0, usage },
  {
    type: "message",
    ...ids,
    message: messages[1]
  },
  {
    type: "turn-end",
    ...ids,
    status: "completed",
    endedAt: 1_901_232_006_900,
    steps: 1,
    attempts: 2,
    sleptMs: 5000,
    usage
  }
]

/** The turn as NDJSON. */
export const lines = events.map((event) => `${JSON.stringify(event)}\n`).join("")

/** The turn as server-sent events; persisted events have their position as `id:`. */
export const frames = ((position = 0) =>
  events.map((event) => Sse.encode(event, isPersisted(event) ? ++position : undefined)).join(""))()

/** The conversation while the turn waits. */
export const waiting: ConversationState = {
  conversationId: ids.conversationId,
  status: "retrying",
  model: target,
  autoRetryEnabled: true,
  isRetrying: true,
  turnId: ids.turnId,
  queued: [],
  attempt: retry.attempt,
  retryAt: retry.retryAt,
  retry
}

/** The turn while it waits. */
export const waitingTurn: TurnState = {
  ...ids,
  status: "waiting",
  model: target,
  acceptedAt: 1_901_232_000_000,
  attempts: 1,
  wait: { retry: retry.attempt, retryAt: retry.retryAt, since: retry.retryAt - retry.delayMs },
  error: { reason: retry.reason, message: retry.message, code: retry.code }
}

/** The turn once it has ended. */
export const endedTurn: TurnState = {
  ...ids,
  status: "completed",
  model: target,
  acceptedAt: 1_901_232_000_000,
  endedAt: 1_901_232_006_900,
  attempts: 2,
  waitedMs: 5_000,
  usage,
  text: "Nothing happened."
}
