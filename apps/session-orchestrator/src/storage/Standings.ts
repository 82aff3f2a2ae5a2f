/**
 * The port to what turns have found out about targets and credentials, shared by all turns and all runners of a database
 * (P7, P8): cooldowns and limits survive a restart.
 *
 * N1. What was noted is there for everybody from then on. Noting the same again changes nothing; of two pauses of one thing
 *     the later end stays (`Standing.merge`).
 */
import type { Standing } from "@holdfast/policy"
import { Context, type Effect } from "effect"
import type { StorageError } from "./Store.ts"

export class Standings extends Context.Service<
  Standings,
  {
    /** What is in force at a moment in epoch milliseconds. */
    readonly load: (now: number) => Effect.Effect<Standing.Standing, StorageError>
    /** Adds what a turn has found out at a moment in epoch milliseconds; what was over by then may be forgotten. */
    readonly note: (changes: Standing.Standing, now: number) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Standings") {}
