/**
 * The port to the stored deaths and defects of interrupted turns (rules C10, X14).
 *
 * Interruptions.S1. A process's note about a turn changes nothing once another process has taken the turn up.
 */
import * as Context from "effect/Context"
import type * as InterruptionTable from "./sql/InterruptionTable.ts"

/** Stores the deaths of turns' processes, and the defects that stopped turns. */
export class Interruptions extends Context.Service<Interruptions, ReturnType<typeof InterruptionTable.make>>()(
  "@holdfast/journal/Interruptions"
) {}
