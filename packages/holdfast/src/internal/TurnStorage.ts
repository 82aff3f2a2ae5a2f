/**
 * The records and events of one turn in a `Store`, as the kernel's `Checkpoint` and `EventSink`.
 *
 * The checkpoint is that of `JournalCheckpoint`, over a journal of the store's keys. A record is in the store before the events that follow
 * from it, and an event before a client gets it.
 */
import { JournalCheckpoint } from "@holdfast/journal"
import { type Records, TurnStopped } from "@holdfast/kernel"
import { Ids, type Message, type Prompt, type TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import { messageOf } from "../HoldfastError.ts"
import type { Store } from "../KeyValueStore.ts"
import type { Facts, KeptBy, KeptTurn, Readers } from "./KeptTurn.ts"

/** What is in the store of one turn. */
export interface TurnInStore {
  /** The turn as it was accepted; `undefined`: it is not in the store. */
  readonly facts: Facts | undefined
  readonly records: ReadonlyArray<Records.Stored>
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
}

/** Whether two prompts are the same, files included. */
export const isSamePrompt = (a: Prompt.Prompt, b: Prompt.Prompt): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Accepts a turn: its place in the conversation, its facts, and that it is open. What is in the store already is left as it is, so that an
 * acceptance that was cut off is completed by the next.
 */
export const accept = async (store: Store, turnId: string, stored: TurnInStore, facts: Facts): Promise<TurnInStore> => {
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
export const load = async (store: Store, turnId: string): Promise<TurnInStore> => {
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
  stored: TurnInStore,
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

// --- internal

/** The kernel's ports over a store. */
const portsOf = (
  store: Store,
  turnId: Ids.TurnId,
  { events, records }: Pick<TurnInStore, "events" | "records">,
  { emit, withdraw }: Readers
): Pick<KeptTurn, "checkpoint" | "sink"> => {
  const put = (key: string, value: unknown) =>
    Effect.tryPromise({
      try: async () => store.put(`turn/${turnId}/${key}`, JSON.stringify(value)),
      catch: (error) => new TurnStopped.TurnStopped({ message: messageOf(error) })
    })
  let persisted = events.length
  return {
    checkpoint: JournalCheckpoint.over(
      { append: (_turnId, seq, record) => put(`record/${place(seq)}`, record) },
      turnId,
      records
    ),
    sink: {
      live: emit,
      persist: (events, position) =>
        Effect.suspend(() => {
          const fresh = events.slice(Math.max(0, persisted - position))
          if (fresh.length === 0) return Effect.void
          return Effect.map(put(`event/${place(persisted)}`, fresh), () => {
            persisted += fresh.length
            for (const event of fresh) emit(event)
          })
        }),
      isPersisted: (position) => position < events.length,
      withdraw
    }
  }
}

const OPEN = "open"

/** Sorts as text in the order of the numbers. */
const place = (n: number): string => String(n).padStart(9, "0")
