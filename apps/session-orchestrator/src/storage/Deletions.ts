/**
 * The port that deletes conversations from the disk (X15).
 *
 * Deletions.D1. A conversation goes whole, in one transaction: its turns, events, journals and labels with it.
 * Deletions.D2. A conversation with a turn that has not ended stays. Its turn has to end first.
 * Deletions.D3. After `scrub` a SQLite file and its log have no byte of what was deleted. Copies and backups are not reached. PostgreSQL
 *     reuses the space after its own vacuum.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Context, type Effect } from "effect"

/** What became of a conversation: `busy` has a turn that has not ended (D2), `missing` does not exist. */
export type Outcome = "deleted" | "busy" | "missing"

/** Deletes from one database. */
export class Deletions extends Context.Service<
  Deletions,
  {
    /** Deletes a conversation. */
    readonly conversation: (id: Ids.ConversationId) => Effect.Effect<Outcome, StorageError>
    /** Takes what was deleted out of the log of a SQLite file (D3). */
    readonly scrub: Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Deletions") {}
