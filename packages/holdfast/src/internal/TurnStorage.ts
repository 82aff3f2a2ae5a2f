/**
 * The records and events of one turn in a `Store`, as the kernel's `Checkpoint` and `EventSink`.
 *
 * The checkpoint is that of `JournalCheckpoint`, over a journal of the store's keys.
 *
 * TurnStorage.J1. A record is in the store before the events that follow from it, and an event before a client gets it.
 */
import { JournalCheckpoint } from "@holdfast/journal"
import { type Records, TurnStopped } from "@holdfast/kernel"
import { Ids, type Message, type Prompt, type TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type { Store } from "../KeyValueStore.ts"
import type { KeptBy, KeptTurn } from "./KeptTurn.ts"

/** What is in the store of one turn. */
export interface Stored {
  /** The turn as it was accepted; `undefined`: it is not in the store. */
  readonly facts: Facts | undefined
  readonly records: ReadonlyArray<Records.Stored>
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
}

/** A turn as it was accepted. */
export interface Facts {
  readonly conversationId: string
  readonly prompt: Prompt.Prompt
  readonly system?: string
  /** `provider/model`. */
  readonly model: string
  /** Epoch milliseconds. */
  readonly startedAt: number
}

/** Whether two prompts are the same, files included. */
export const isSamePrompt = (a: Prompt.Prompt, b: Prompt.Prompt): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Accepts a turn: its place in the conversation, its facts, and that it is open. What is in the store already is left as it is, so that an
 * acceptance that was cut off is completed by the next.
 */
export const accept = async (store: Store, turnId: string, stored: Stored, facts: Facts): Promise<Stored> => {
  if (stored.facts === undefined) {
    const { conversationId } = facts
    const before = await conversation(store, conversationId)
    if (!before.includes(turnId)) await store.put(`conversation/${conversationId}/${place(before.length)}`, turnId)
    await store.put(`turn/${turnId}/facts`, JSON.stringify(facts))
  }
  const isSealed = stored.events.some(({ type }) => type === "turn-end")
  if (!isSealed && (await store.get(`open/${turnId}`)) !== OPEN) await store.put(`open/${turnId}`, OPEN)
  return { ...stored, facts: stored.facts ?? facts }
}

/** The ids of a conversation's turns, oldest first. */
export const conversation = async (store: Store, conversationId: string): Promise<ReadonlyArray<string>> =>
  Array.from(await store.list(`conversation/${conversationId}/`))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, turnId]) => turnId)

/** Marks a turn as sealed. */
const close = async (store: Store, turnId: string): Promise<void> => {
  await store.put(`open/${turnId}`, "sealed")
}

/** The ids of all turns that are not sealed. */
export const openTurns = async (store: Store): Promise<ReadonlyArray<string>> =>
  Array.from(await store.list("open/"))
    .filter(([, value]) => value === OPEN)
    .map(([key]) => key.slice("open/".length))

/** Reads all of a turn. */
export const load = async (store: Store, turnId: string): Promise<Stored> => {
  const prefix = `turn/${turnId}/`
  const entries = Array.from(await store.list(prefix), ([key, value]) => [key.slice(prefix.length), value] as const)
  const inOrder = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const under = (start: string) => inOrder.filter(([key]) => key.startsWith(start)).map(([, value]) => value)
  const facts = entries.find(([key]) => key === "facts")?.[1]
  return {
    facts: facts === undefined ? undefined : JSON.parse(facts),
    records: under("record/").map((value): Records.Stored => JSON.parse(value)),
    events: under("event/").flatMap((value): ReadonlyArray<TurnEvent.PersistedEvent> => JSON.parse(value))
  }
}

/** A turn in a store, behind `history`. */
export const keep = (
  store: Store,
  turnId: string,
  stored: Stored,
  history: ReadonlyArray<Message.Message>,
  { emit, sleep, withdraw }: Pick<KeptBy, "emit" | "sleep" | "withdraw">
): KeptTurn => ({
  facts: stored.facts,
  events: stored.events,
  history,
  ...portsOf(store, Ids.TurnId.make(turnId), stored, { emit, withdraw }),
  sleep,
  close: () => close(store, turnId)
})

/** The readers of a turn's events. */
export interface Readers {
  /** Gets each event, once it is in the store where it has to be. */
  readonly emit: (event: TurnEvent.TurnEvent) => void
  /** As in `EventSink`. */
  readonly withdraw: () => boolean
}

// --- internal

/** The kernel's ports over a store. */
const portsOf = (
  store: Store,
  turnId: Ids.TurnId,
  { events, records }: Pick<Stored, "events" | "records">,
  { emit, withdraw }: Readers
): Pick<KeptTurn, "checkpoint" | "sink"> => {
  const journal = journalOf(store)
  const { carrying, checkpoint } = JournalCheckpoint.joined(journal, turnId, records)
  let persisted = events.length
  return {
    checkpoint,
    sink: {
      live: emit,
      persist: (events, position) =>
        Effect.suspend(() => {
          const fresh = events.slice(Math.max(0, persisted - position))
          if (fresh.length === 0) return Effect.void
          const page = { at: persisted, events: fresh }
          return Effect.map(carrying(page, journal.persist(turnId, page)), () => {
            persisted += fresh.length
            for (const event of fresh) emit(event)
          })
        }),
      isPersisted: (position) => position < events.length,
      withdraw
    }
  }
}

/** Persisted events of a turn, from a position on. */
interface Page {
  readonly at: number
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
}

/**
 * The journal of turns in a store. A store writes one key at a time, so a write that fails, or is cut off, may have written the first of its
 * keys: a turn that is resumed reaches the others from there (TurnStorage.J1).
 */
const journalOf = (store: Store) => {
  const put = (turnId: string, key: string, value: unknown) =>
    Effect.tryPromise({
      try: async () => store.put(`turn/${turnId}/${key}`, JSON.stringify(value)),
      catch: (error) => new TurnStopped.TurnStopped({ message: messageOf(error) })
    })
  const append = (turnId: string, seq: number, ...records: ReadonlyArray<Records.Stored>) =>
    Effect.forEach(records, (record, n) => put(turnId, `record/${place(seq + n)}`, record), { discard: true })
  const persist = (turnId: string, { at, events }: Page) => put(turnId, `event/${place(at)}`, events)
  return {
    append,
    persist,
    appendWith: (turnId: string, seq: number, records: ReadonlyArray<Records.Stored>, page: Page) =>
      Effect.andThen(append(turnId, seq, ...records), persist(turnId, page))
  }
}

const OPEN = "open"

/** Sorts as text in the order of the numbers. */
const place = (n: number): string => String(n).padStart(9, "0")

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
