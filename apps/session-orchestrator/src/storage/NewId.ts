/**
 * Makes ids that clients leave to the service: UUIDs of version 7 (RFC 9562), which begin with the time.
 *
 * Conversations and turns have an index by such an id. With random ids every row would touch a different page of the index: a commit of
 * five hundred turns would write as many pages. These ids share the last pages. The ids of one millisecond are in no order, and a clock
 * that was set back is followed: no code reads an order from an id. The order of acceptance is the number of the row (`TurnTable`).
 */
import { Ids } from "@holdfast/wire"

/** The id of a new conversation. */
export const conversation = (): Ids.ConversationId => Ids.ConversationId.make(next())

/** The id of a new turn. */
export const turn = (): Ids.TurnId => Ids.TurnId.make(next())

/** A new id: 48 bits of time, in epoch milliseconds, the version, and the random bits of a random UUID. */
export const next = (): string => {
  const time = Date.now().toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${globalThis.crypto.randomUUID().slice(15)}`
}
