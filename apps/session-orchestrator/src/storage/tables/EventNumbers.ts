/**
 * Which events of a group of appends are new, and which id each of them has: a plain function of the group and of what is on
 * disk.
 *
 * N1. The ids of a conversation are 1, 2, 3 … without a gap, in the order in which its appends were handed in.
 * N2. An event whose (turn, position) is taken, on disk or earlier in the group, is dropped; the one that was first stands
 *     in for it, with its id (W2).
 */
import type { Ids, TurnEvent } from "@holdfast/wire"
import type { StoredEvent } from "../Store.ts"

/** Events of one turn from a position on, encoded. */
export interface Append {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The place of the first of them among the events of the turn. */
  readonly position: number
  readonly events: ReadonlyArray<{ readonly event: TurnEvent.PersistedEvent; readonly json: string }>
}

/** An event at its place in its turn and in its conversation. */
export interface Placed extends StoredEvent {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly position: number
}

export interface Plan {
  /** What has to be written. */
  readonly added: ReadonlyArray<Placed>
  /** What each append gets back, in the order of the group. */
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
  stored: ReadonlyArray<Placed>,
  lastIds: ReadonlyMap<Ids.ConversationId, number>
): Plan => {
  const taken = new Map(stored.map((event) => [placeOf(event.turnId, event.position), event]))
  const ids = new Map(lastIds)
  const added: Array<Placed> = []
  const results = appends.map(({ conversationId, turnId, position, events }) =>
    events.map(({ event, json }, offset): StoredEvent => {
      const place = placeOf(turnId, position + offset)
      const first = taken.get(place)
      if (first !== undefined) return { id: first.id, event: first.event, json: first.json } // N2
      const id = (ids.get(conversationId) ?? 0) + 1 // N1
      ids.set(conversationId, id)
      const placed: Placed = { conversationId, turnId, position: position + offset, id, event, json }
      taken.set(place, placed)
      added.push(placed)
      return { id, event, json }
    })
  )
  return { added, results }
}

// --- internal

/** No id has a slash. */
const placeOf = (turnId: Ids.TurnId, position: number): string => `${turnId}/${position}`
