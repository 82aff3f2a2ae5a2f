/**
 * The port to the waits of held calls: by it a call that is asked again goes on in the wait that its client left (rule X13).
 *
 * - A wait has one client. While it has its client, `find` returns no such wait: the same call is a call of its own.
 * - A wait without a client is kept for `KEPT_MS`; then its turn is aborted.
 *   A call of a session that has a login goes on in its wait with another login: the first one may have ended (401) and been renewed.
 * - A call that gave up stays so for `KEPT_MS`.
 */
import type { StorageError } from "@holdfast/journal"
import type { Failure, Ids } from "@holdfast/wire"
import type { Effect } from "effect"

/** How long a wait is kept without its client, and how long a call stays given up, in milliseconds. */
export const KEPT_MS = 15 * 60_000

/** A call that is looked up. */
export interface Sought {
  /** It begins with the `HeldCallIds.CALL_LENGTH` characters that name the call whatever its login is. */
  readonly key: string
  /** A wait that another login of its session has left is its own. */
  readonly isRenewable: boolean
}

/** A wait on disk. */
export interface Wait {
  readonly key: string
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
}

/** What is known of a call that was asked before. */
export type Known =
  | { readonly _tag: "Left"; readonly wait: Wait }
  | { readonly _tag: "GaveUp"; readonly key: string; readonly turnId: Ids.TurnId; readonly failure: Failure.Failure }

/** The waits of held calls. */
export interface HeldWaits {
  /** Finds a call by its key, which a wait that is returned has from now on, as it has its client. */
  readonly find: (sought: () => Sought) => Effect.Effect<Known | undefined, StorageError>
  /** A new wait has its client. */
  readonly taken: (wait: Wait) => Effect.Effect<void>
  /** The client has left. */
  readonly left: (wait: Wait) => Effect.Effect<void>
  /** The call has ended, with its client. `failure`: it gave up. */
  readonly ended: (wait: Wait, failure: Failure.Failure | undefined) => Effect.Effect<void>
}
