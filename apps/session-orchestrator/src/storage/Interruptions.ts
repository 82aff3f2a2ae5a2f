/**
 * The port to what is on disk of interrupted turns: the deaths of their processes, and the defects that stopped them (C10, X14).
 *
 * Interruptions.S1. What a process writes of a turn that another process has taken up since changes nothing.
 */
import type { Ids } from "@holdfast/wire"
import { Context, type Effect, type Option } from "effect"
import type { Interruption } from "../durable/Interruption.ts"
import type { StorageError } from "./Store.ts"

export class Interruptions extends Context.Service<
  Interruptions,
  {
    /** What is known of a turn; nothing for one that was never interrupted. */
    readonly find: (turnId: Ids.TurnId) => Effect.Effect<Option.Option<Interruption>, StorageError>
    /** Writes what is known of a turn that this process takes up, whoever had it before. */
    readonly takeUp: (turnId: Ids.TurnId, interruption: Interruption) => Effect.Effect<void, StorageError>
    /** Writes what is known of a turn that this process has (S1). */
    readonly note: (turnId: Ids.TurnId, interruption: Interruption) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/Interruptions") {}
