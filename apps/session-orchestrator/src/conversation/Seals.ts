/**
 * Who waits for which turn's seal.
 *
 * L1. An entry is there while somebody waits, and no longer: asking about turns that were sealed long ago leaves nothing.
 * L2. A turn that stops unsealed tells those who wait, instead of letting them wait for ever.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import type { Exit } from "effect"
import { Deferred, Effect } from "effect"

type Outcome = Exit.Exit<TurnEvent.TurnEnd, TurnStopped.TurnStopped>

export class Seals {
  private readonly entries = new Map<Ids.TurnId, Entry>()

  /** How many turns somebody waits for. */
  get size(): number {
    return this.entries.size
  }

  /** Waits for what becomes of a turn from now on. */
  await(turnId: Ids.TurnId): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const entry = this.entries.get(turnId) ?? { outcome: Deferred.makeUnsafe(), waiting: 0 }
        this.entries.set(turnId, entry)
        entry.waiting++
        return entry
      }),
      ({ outcome }) => Deferred.await(outcome),
      (entry) =>
        Effect.sync(() => {
          if (--entry.waiting === 0 && this.entries.get(turnId) === entry) this.entries.delete(turnId) // L1
        })
    )
  }

  /** Tells those who wait. */
  tell(turnId: Ids.TurnId, outcome: Outcome): void {
    const entry = this.entries.get(turnId)
    this.entries.delete(turnId)
    if (entry !== undefined) Deferred.doneUnsafe(entry.outcome, outcome)
  }
}

// --- internal

interface Entry {
  readonly outcome: Deferred.Deferred<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  waiting: number
}
