/** A client asked for a turn that is not there. */
import { Ids } from "@holdfast/wire"
import { Schema } from "effect"

export class TurnNotFound extends Schema.TaggedError<TurnNotFound>()("TurnNotFound", {
  /** Where the client looked for it; absent where it looked everywhere. */
  conversationId: Schema.optionalKey(Ids.ConversationId),
  turnId: Ids.TurnId
}) {
  override get message(): string {
    return this.conversationId === undefined
      ? `There is no turn ${this.turnId}.`
      : `Conversation ${this.conversationId} has no turn ${this.turnId}.`
  }
}
