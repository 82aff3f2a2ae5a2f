/**
 * The port to the stored deaths and defects of interrupted turns (rules C10, X14).
 *
 * Interruptions.S1. A process's note about a turn changes nothing once another process has taken the turn up.
 */
import type * as Interruption from "./Interruption.ts"
import type { StorageError } from "./StorageError.ts"
import type { Ids } from "@holdfast/wire"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/** Stores the deaths of turns' processes, and the defects that stopped turns. */
export class Interruptions extends Context.Service<
  Interruptions,
  {
    /** The interruptions of a turn; none for a turn that was never interrupted. */
    readonly find: (turnId: Ids.TurnId) => Effect.Effect<Option.Option<Interruption.Interruption>, StorageError>
    /** Writes the interruptions of a turn that this process takes up, whatever process had it before. */
    readonly takeUp: (turnId: Ids.TurnId, interruption: Interruption.Interruption) => Effect.Effect<void, StorageError>
    /** Writes the interruptions of a turn that this process has (S1). */
    readonly note: (turnId: Ids.TurnId, interruption: Interruption.Interruption) => Effect.Effect<void, StorageError>
  }
>()("@holdfast/journal/Interruptions") {}
