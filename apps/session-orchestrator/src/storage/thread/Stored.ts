/**
 * How events and records cross between the threads: as the JSON that is in the database.
 *
 * Who reads them parses it, and no more: the rows were checked on the other side, by the types that they were written from.
 */
import type { TurnEvent } from "@holdfast/wire"
import type { Array as Arr } from "effect"
import type { Record } from "../Journal.ts"
import type { StoredEvent } from "../Store.ts"
import type { Encoded } from "../StoredEvents.ts"
import { type Items, listIn, putList, type Reader } from "./Items.ts"

export const putEncoded = (items: Items, events: ReadonlyArray<Encoded>): void =>
  putList(items, events, ({ json }) => items.push(json))

/** The events, and the texts that they came as. */
export const eventsIn = (
  items: Reader
): {
  readonly events: Arr.NonEmptyReadonlyArray<TurnEvent.PersistedEvent> | undefined
  readonly texts: ReadonlyArray<string>
} => {
  const texts = listIn(items, () => items.next<string>())
  const [first, ...rest] = texts.map(parse)
  return { events: first === undefined ? undefined : [first, ...rest], texts }
}

/** @param sent what has come from the other side, by its place in the answer; that it has already */
export const putStored = (items: Items, events: ReadonlyArray<StoredEvent>, sent: ReadonlyArray<string> = []): void => {
  let i = 0
  putList(items, events, ({ id, json }) => items.push(id, json === sent[i++] ? undefined : json))
}

/** @param sent what was sent to the other side, by its place in the answer */
export const storedIn = (items: Reader, sent: ReadonlyArray<Encoded> = []): ReadonlyArray<StoredEvent> => {
  let i = 0
  return listIn(items, (): StoredEvent => {
    const id = items.next<number>()
    const json = items.next<string | undefined>()
    const own = sent[i++]
    if (json !== undefined) return { id, event: parse(json), json }
    if (own === undefined) throw new Error("An event came back that was never sent")
    return { id, event: own.event, json: own.json }
  })
}

export const putRecords = (items: Items, records: ReadonlyArray<Record>): void =>
  putList(items, records, ({ name, value }) => items.push(name, value))

export const recordsIn = (items: Reader): ReadonlyArray<Record> =>
  listIn(items, () => ({ name: items.next<string>(), value: items.next<string>() }))

// --- internal

const parse = (json: string): TurnEvent.PersistedEvent => JSON.parse(json) as TurnEvent.PersistedEvent // its JSON
