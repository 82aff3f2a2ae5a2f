/**
 * The port to cooldowns and limits of targets and credentials (rules P7, P8).
 *
 * All turns and all runners of a database share them, and they survive a restart.
 *
 * Standings.N1. A noted pause is visible to all readers from then on. Noting it again changes nothing; of two pauses of one thing the
 *     later end stays (`Standing.merge`).
 */
import type { StorageError } from "@holdfast/journal"
import type { Standing } from "@holdfast/policy"
import { Context, type Effect } from "effect"

/** Stores the pauses of targets and credentials. */
export class Standings extends Context.Service<
  Standings,
  {
    /** The pauses in force at a moment in epoch milliseconds. */
    readonly load: (now: number) => Effect.Effect<Standing.Standing, StorageError>
    /** Adds the findings of a turn at a moment in epoch milliseconds; pauses that had ended by then may be deleted. */
    readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Standings") {}
