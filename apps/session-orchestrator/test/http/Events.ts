/** Events of a turn, as short as tests can have them. */
import { Ids, type TurnEvent } from "@holdfast/wire"

export const of = (conversation: string, turn: string) => {
  const ids = { conversationId: Ids.ConversationId.make(conversation), turnId: Ids.TurnId.make(turn) }
  return {
    start: { type: "turn-start", ...ids, startedAt: 1 } satisfies TurnEvent.TurnEvent,
    delta: (delta: string): TurnEvent.TurnEvent => ({ type: "text-delta", ...ids, delta }),
    wait: {
      type: "provider-retry",
      ...ids,
      attempt: 0,
      delayMs: 5000,
      retryAt: 5001,
      message: 'Overloaded\n"now"',
      code: "529",
      reason: "overloaded",
      target: "anthropic/claude"
    } satisfies TurnEvent.TurnEvent,
    end: {
      type: "turn-end",
      ...ids,
      status: "completed",
      endedAt: 2,
      steps: 1,
      attempts: 1,
      sleptMs: 0,
      usage: {}
    } satisfies TurnEvent.TurnEnd
  }
}
