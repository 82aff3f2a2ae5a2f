/**
 * Reports to the callers that wait for the end of a turn.
 *
 * - An entry exists only while a caller waits: asking about turns that were sealed long ago leaves nothing.
 * - A turn that stops unsealed is reported too, so that no caller waits without end.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Effect, type Exit } from "effect"

/** The seal of a turn, or why it stopped without one. */
export type Outcome = Exit.Exit<TurnEvent.TurnEnd, TurnStopped.TurnStopped>

/** The callers that wait for the end of a turn. */
export class Seals {
  private readonly waiting = new Map<Ids.TurnId, Set<(outcome: Outcome) => void>>()

  /** The number of turns that have waiting callers. */
  get size(): number {
    return this.waiting.size
  }

  /** Waits for the end of a turn, or for its stop; earlier ends are not reported. */
  await(turnId: Ids.TurnId): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> {
    return Effect.callback((resume) => this.add(turnId, resume))
  }

  /** The same, unless the turn is not here: `isHere` is asked in the same moment, so that no end is missed in between. */
  awaitHere(
    turnId: Ids.TurnId,
    isHere: () => boolean
  ): Effect.Effect<TurnEvent.TurnEnd | undefined, TurnStopped.TurnStopped> {
    return Effect.callback((resume) => (isHere() ? this.add(turnId, resume) : resume(Effect.undefined)))
  }

  /** Reports to the callers that wait. */
  report(turnId: Ids.TurnId, outcome: Outcome): void {
    const callers = this.waiting.get(turnId)
    this.waiting.delete(turnId)
    callers?.forEach((resume) => resume(outcome))
  }

  /** Adds a caller; returns an effect that removes it. */
  add(turnId: Ids.TurnId, caller: (outcome: Outcome) => void): Effect.Effect<void> {
    const callers = this.waiting.get(turnId) ?? new Set()
    this.waiting.set(turnId, callers.add(caller))
    return Effect.sync(() => {
      callers.delete(caller)
      if (callers.size === 0 && this.waiting.get(turnId) === callers) this.waiting.delete(turnId)
    })
  }
}
