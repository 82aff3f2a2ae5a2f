/**
 * Schemas of the ids that cross a process boundary.
 *
 * The id of a conversation or a turn is an opaque string of 1 to 64 letters, digits, `_` and `-`, so it needs no escaping in a
 * URL, a file name or a log line. Clients may choose a `TurnId` themselves: a repeated id refers to the same turn.
 */
import * as Schema from "effect/Schema"

/** The characters and the length of every id. */
export const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/

const id = Schema.String.check(
  Schema.isPattern(ID_PATTERN, { message: "expected 1 to 64 letters, digits, '_' or '-'" })
)

/** Names a conversation. */
export const ConversationId = id.pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type

/** Names a turn, unique over all conversations. */
export const TurnId = id.pipe(Schema.brand("TurnId"))
export type TurnId = typeof TurnId.Type

/** Names a command, so that a command sent twice takes effect once. Clients choose it. */
export const CommandId = id.pipe(Schema.brand("CommandId"))
export type CommandId = typeof CommandId.Type

/** Names a message, unique over all conversations: its turn's id, a dot, and a number. */
export const MessageId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}\.[0-9]{1,9}$/, { message: "expected a turn's id, a dot and a number" })
).pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** The id of the nth message of a turn. Ids are counted, not random, so a turn that is replayed produces the same ids. */
export const messageIdOf = (turnId: TurnId, n: number): MessageId => `${turnId}.${n}` as MessageId // valid, because the turn's id is
