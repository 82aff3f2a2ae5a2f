/**
 * The identities that cross a process.
 *
 * A conversation's and a turn's id is an opaque string of 1 to 64 letters, digits, `_` and `-`, so that it can stand in a URL, a file name and a
 * log line as it is. Clients may choose a `TurnId` themselves: the same id again is the same turn.
 */
import { Schema } from "effect"

/** The characters and the length of every id. */
export const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/

const id = Schema.String.check(
  Schema.isPattern(ID_PATTERN, { message: "expected 1 to 64 letters, digits, '_' or '-'" })
)

/** Names a conversation. */
export const ConversationId = id.pipe(Schema.brand("ConversationId"))
export type ConversationId = typeof ConversationId.Type

/** Names a turn, over all conversations. */
export const TurnId = id.pipe(Schema.brand("TurnId"))
export type TurnId = typeof TurnId.Type

/** Names a command, so that sending it twice is sending it once. Clients choose it. */
export const CommandId = id.pipe(Schema.brand("CommandId"))
export type CommandId = typeof CommandId.Type

/** Names a message, over all conversations: its turn's id, a dot, and a number. */
export const MessageId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}\.[0-9]{1,9}$/, { message: "expected a turn's id, a dot and a number" })
).pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** The id of the nth message of a turn. Counting instead of drawing makes a turn that is run again name them the same. */
export const messageIdOf = (turnId: TurnId, n: number): MessageId => MessageId.make(`${turnId}.${n}`)
