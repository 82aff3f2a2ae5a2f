/** Writes to the log of turns for tests, one append at a time. */
import type { Journal } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import type { StoredEvent } from "../../src/storage/Stored.ts"
import * as TurnLog from "../../src/storage/TurnLog.ts"

/** Events of a turn, and the position of the first of them. */
export interface Events {
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
  readonly position: number
}

/** A log without locks finds the conversation by the turn. */
const conversationId = Ids.ConversationId.make("any")

const NONE: Events = { events: [], position: 0 }

/** Accepts a turn. */
export const accept = (...turn: Parameters<TurnLog.TurnLog["Service"]["accept"]>) =>
  Effect.flatMap(TurnLog.TurnLog, (log) => log.accept(...turn))

/** Appends records, with events that follow from them. */
export const append = (
  turnId: Ids.TurnId,
  seq: number,
  records: ReadonlyArray<Records.Stored>,
  { events, position }: Events = NONE
) =>
  Effect.flatMap(TurnLog.TurnLog, (log) =>
    TurnLog.one(log, { conversationId, turnId, seq, records: records.map(named), events, position })
  )

/** A record as turns write it, whose value may be any. */
export const named = ({ name, value }: Records.Stored): Engine.Named => ({
  name,
  record: { kind: "Content", step: 0, number: 0, value: JSON.parse(value) }
})

/** Appends events behind the records that the turn has. */
export const events = (
  turnId: Ids.TurnId,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  position: number
): Effect.Effect<ReadonlyArray<StoredEvent>, Journal.AppendError, TurnLog.TurnLog> =>
  Effect.flatMap(TurnLog.TurnLog, (log) =>
    Effect.flatMap(log.load(turnId), ({ length: seq }) =>
      TurnLog.one(log, { conversationId, turnId, seq, records: [], events, position })
    )
  )

/** The records of a turn. */
export const load = (turnId: Ids.TurnId) => Effect.flatMap(TurnLog.TurnLog, (log) => log.load(turnId))

/** The turns without a seal. */
export const tail = (of?: Parameters<TurnLog.TurnLog["Service"]["tail"]>[0]) =>
  Effect.flatMap(TurnLog.TurnLog, (log) => log.tail(of))

/** The events of a conversation after an id. */
export const after = (of: Ids.ConversationId, id: number) =>
  Stream.unwrap(Effect.map(TurnLog.TurnLog, (log) => log.events(of, id)))

/** The messages of a conversation. */
export const history = (of: Ids.ConversationId) => Effect.flatMap(TurnLog.TurnLog, (log) => log.history(of))
