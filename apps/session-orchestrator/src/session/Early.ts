/**
 * A turn that runs while its acceptance is on its way to the disk.
 *
 * Early.E1. What it emits leaves when the acceptance is on disk, behind the events that were written with that, and in its order.
 * Early.E2. What it writes is handed in behind its acceptance (`Store.acceptTurn`), and it goes on when both are on disk. So of what a
 *     provider answers nothing leaves earlier: the mark before it is such a write (X2).
 * Early.E3. Where it is not accepted, nothing is reported of it: its writes fail, its call is interrupted, and it leaves its session.
 */
import type { JournalCheckpoint } from "@holdfast/journal"
import { Observer, TurnStopped } from "@holdfast/kernel"
import { Deferred, Effect, Exit } from "effect"

export class Early {
  private readonly fate = Deferred.makeUnsafe<boolean>()
  private held: Array<() => void> | undefined = []
  private isRefused = false

  /** Nothing is known yet of its acceptance. */
  get isOnItsWay(): boolean {
    return this.held !== undefined && !this.isRefused
  }

  /** Waits until it is known whether the turn is accepted; whether it is. */
  readonly isAccepted: Effect.Effect<boolean> = Deferred.await(this.fate)

  /** It is accepted, and its first events have left. */
  accept(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const emit of held) emit()
    Deferred.doneUnsafe(this.fate, Exit.succeed(true))
  }

  /** It is not accepted. */
  refuse(): void {
    this.isRefused = true
    Deferred.doneUnsafe(this.fate, Exit.succeed(false))
  }

  /** E1 */
  emitting<Event>(emit: (event: Event) => void): (event: Event) => void {
    return (event) => {
      if (this.held === undefined) emit(event)
      else this.held.push(() => emit(event))
    }
  }

  /** Its observations wait too (E3). */
  observing(listeners: Observer.Listeners): Observer.Listeners {
    const held = <Kind extends keyof Observer.Observations>(kind: Kind) =>
      this.emitting((observation: Observer.Observations[Kind]) => Observer.tell(listeners, kind, observation))
    return {
      attempt: held("attempt"),
      compaction: held("compaction"),
      decision: held("decision"),
      event: held("event"),
      wait: held("wait"),
      tool: held("tool"),
      seal: held("seal"),
      moved: held("moved")
    }
  }

  /** E2. A write that fails before the turn is accepted is tried again when it is: it may have failed with the acceptance. */
  persisting(patiently: JournalCheckpoint.Persist): JournalCheckpoint.Persist {
    return (write) =>
      Effect.suspend(() => {
        if (this.held === undefined) return patiently(write)
        if (this.isRefused) return Effect.fail(REFUSED)
        return Effect.flatMap(Effect.exit(write), (exit) =>
          Effect.flatMap(this.isAccepted, (isAccepted) =>
            isAccepted ? patiently(Exit.isSuccess(exit) ? exit : write) : Effect.fail(REFUSED)
          )
        )
      })
  }
}

// --- internal

const REFUSED = new TurnStopped.TurnStopped({ message: "The turn was not accepted." })
