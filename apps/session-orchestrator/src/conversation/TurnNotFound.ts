/** The error for a turn that does not exist. */
import { Ids } from "@holdfast/wire"
import { Schema } from "effect"

/** There is no such turn, or not in this conversation. */
export class TurnNotFound extends Schema.TaggedError<TurnNotFound>()("TurnNotFound", {
  /** The conversation that was searched; absent if all were searched. */
  conversationId: Schema.optionalKey(Ids.ConversationId),
  turnId: Ids.TurnId
}) {
  override get message(): string {
    return this.conversationId === undefined
      ? `There is no turn ${this.turnId}.`
      : `Conversation ${this.conversationId} has no turn ${this.turnId}.`
  }
}
