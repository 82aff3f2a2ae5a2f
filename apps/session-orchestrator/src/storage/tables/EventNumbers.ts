/**
 * Assigns ids to the new events of a group of appends.
 *
 * A pure function of the group and of the events on disk.
 *
 * EventNumbers.N1. The ids of a conversation are 1, 2, 3 … without a gap, in the order of its appends.
 * EventNumbers.N2. An event whose (turn, position) is taken, on disk or earlier in the group, is dropped; the earlier event is returned
 *     instead, with its id (`Store.W2`).
 */
import type { Ids, TurnEvent } from "@holdfast/wire"
import type { StoredEvent } from "../Store.ts"

/** Events of one turn from a position on, encoded. */
export interface Append {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The position of the first of them among the events of the turn, 0-based. */
  readonly position: number
  readonly events: ReadonlyArray<{ readonly event: TurnEvent.PersistedEvent; readonly json: string }>
}

/** An event with its position in its turn and its id in its conversation. */
export interface NumberedEvent extends StoredEvent {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly position: number
}

/** The result of numbering a group. */
export interface Plan {
  /** The events to write. */
  readonly added: ReadonlyArray<NumberedEvent>
  /** The events of each append, in the order of the group. */
  readonly results: ReadonlyArray<ReadonlyArray<StoredEvent>>
}

/**
 * Numbers the events of a group.
 *
 * @param stored the events on disk that have a (turn, position) of the group
 * @param lastIds the highest id of each conversation; absent where there is none
 */
export const plan = (
  appends: ReadonlyArray<Append>,
  stored: ReadonlyArray<NumberedEvent>,
  lastIds: ReadonlyMap<Ids.ConversationId, number>
): Plan => {
  const taken = new Map(stored.map((event) => [keyOf(event.turnId, event.position), event]))
  const ids = new Map(lastIds)
  const added: Array<NumberedEvent> = []
  const results = appends.map(({ conversationId, turnId, position, events }) =>
    events.map(({ event, json }, offset): StoredEvent => {
      const key = keyOf(turnId, position + offset)
      const first = taken.get(key)
      if (first !== undefined) return { id: first.id, event: first.event, json: first.json } // N2
      const id = (ids.get(conversationId) ?? 0) + 1 // N1
      ids.set(conversationId, id)
      const numbered: NumberedEvent = { conversationId, turnId, position: position + offset, id, event, json }
      taken.set(key, numbered)
      added.push(numbered)
      return { id, event, json }
    })
  )
  return { added, results }
}

// --- internal

/** No id has a slash. */
const keyOf = (turnId: Ids.TurnId, position: number): string => `${turnId}/${position}`
