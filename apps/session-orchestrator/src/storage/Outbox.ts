/**
 * The port to messages for receivers outside, which are delivered at least once, over restarts and by any runner (X12, X15).
 *
 * Outbox.X1. A message with a known id is not added again, also after it was delivered, for `KEPT_MS`.
 * Outbox.X2. The messages of a lane are claimed one after another, in the order in which they were added.
 * Outbox.X3. A claim lasts for a time. A message whose process dies in the meantime can be claimed again, under the same id.
 * Outbox.X4. A message about a turn's end is added with its turn, and is due once the turn has ended.
 */
import type { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Context, type Effect } from "effect"

/** How long a message's id is known after its end. */
export const KEPT_MS = 7 * 86_400_000

/** A message to add. */
export interface NewMessage {
  /** The same message again has the same id. */
  readonly id: string
  readonly lane: string
  /** Where it goes, in the words of its sender. */
  readonly receiver: string
  readonly payload: string
  /** Epoch milliseconds. */
  readonly dueAt: number
}

/** A message that this process delivers. */
export interface Claimed {
  readonly number: number
  readonly id: string
  readonly receiver: string
  /** Absent on a message about a turn's end. */
  readonly payload: string | undefined
  readonly turnId: Ids.TurnId | undefined
  /** Attempts that have failed. */
  readonly attempts: number
}

/** Messages of one database. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /** Adds messages whose ids are not known (Outbox.X1). */
    readonly add: (messages: ReadonlyArray<NewMessage>) => Effect.Effect<void, StorageError>
    /** Makes messages due whose turns have ended since a moment (Outbox.X4). */
    readonly release: (endedSince: number, now: number) => Effect.Effect<void, StorageError>
    /** Claims messages that are due, at most `limit`, and none of the receivers in `except` (Outbox.X2, Outbox.X3). */
    readonly claim: (
      now: number,
      until: number,
      limit: number,
      except?: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Claimed>, StorageError>
    /** A message was delivered, or was given up. */
    readonly settle: (message: number, state: "delivered" | "refused", now: number) => Effect.Effect<void, StorageError>
    /** An attempt has failed; the next one is due later. */
    readonly postpone: (message: number, attempts: number, dueAt: number) => Effect.Effect<void, StorageError>
    /** Deletes messages that ended more than `KEPT_MS` ago. */
    readonly forget: (now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Outbox") {}
