/** What whoever stores events does with them before and after: their JSON is made once, and what is long is read in pages. */
import type { TurnEvent } from "@holdfast/wire"
import { Effect, Option, Stream } from "effect"
import type { StoredEvent } from "./Store.ts"

/** An event that has no place yet. */
export type Encoded = Omit<StoredEvent, "id">

export const encoded = (event: TurnEvent.PersistedEvent): Encoded => ({ event, json: JSON.stringify(event) })

/** How many events are read at a time: some hundred kilobytes of an ordinary conversation. */
export const PAGE = 256

/** All events after an id, from what reads the next `PAGE` of them after any id; a page that is not full is the last one. */
export const paged = <E>(
  after: number,
  read: (after: number) => Effect.Effect<ReadonlyArray<StoredEvent>, E>
): Stream.Stream<StoredEvent, E> =>
  Stream.paginate(after, (after) =>
    Effect.map(read(after), (page) => {
      const last = page.length < PAGE ? undefined : page.at(-1)
      return [page, Option.map(Option.fromUndefinedOr(last), (event) => event.id)] as const
    })
  )
