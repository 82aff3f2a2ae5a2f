/** Events of a turn, as short as tests can have them. */
import { Ids, type TurnEvent } from "@holdfast/wire"
import * as GivenTurn from "../GivenTurn.ts"

export const of = (conversation: string, turn: string) => {
  const ids = { conversationId: Ids.ConversationId.make(conversation), turnId: Ids.TurnId.make(turn) }
  return {
    start: { type: "turn-start", ...ids, startedAt: 1 } satisfies TurnEvent.TurnEvent,
    delta: (delta: string): TurnEvent.TurnEvent => ({ type: "text-delta", ...ids, delta }),
    wait: GivenTurn.retry({ ...ids, delayMs: 5000, retryAt: 5001, message: 'Overloaded\n"now"' }),
    end: GivenTurn.end("completed", { ...ids, endedAt: 2 })
  }
}
