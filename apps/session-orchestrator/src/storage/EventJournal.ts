/** The port to the journal of the service: records, committed with the events that follow from them. */
import type { Journal as Port } from "@holdfast/journal"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { type Array, Context } from "effect"
import type { StoredEvent } from "./Store.ts"

/** Persisted events of a turn, to be written with records. */
export interface Events {
  readonly conversationId: Ids.ConversationId
  readonly events: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>
  /** The position of the first of them among the events of the turn, 0-based. */
  readonly position: number
}

/** Keeps the records of turns; writes their events too, and returns those with their ids (`Store.appendEvents`). */
export class Journal extends Context.Service<
  Journal,
  Port.Journal["Service"] & Port.JournalWith<Events, ReadonlyArray<StoredEvent>>
>()("@holdfast/session-orchestrator/storage/Journal") {}
