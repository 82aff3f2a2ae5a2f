/**
 * Holds back a turn that runs while its acceptance is being written.
 *
 * Early.E1. Its events leave when the acceptance is on disk, behind the events that were written with it, and in their order.
 * Early.E2. Its writes are handed in behind its acceptance (`Store.acceptTurn`), and the turn continues when both are on disk. So no part of
 *     a provider's answer leaves earlier: the mark before it is such a write (rule X2).
 * Early.E3. If it is not accepted, nothing is reported of it: its writes fail, its call is interrupted, and it leaves its session.
 */
import type { JournalCheckpoint } from "@holdfast/journal"
import { Observer, TurnStopped } from "@holdfast/kernel"
import { Deferred, Effect, Exit } from "effect"

/** The events and writes of a turn that is not accepted yet. */
export class Early {
  private readonly fate = Deferred.makeUnsafe<boolean>()
  private held: Array<() => void> | undefined = []
  private isRefused = false

  /** Whether its acceptance is still undecided. */
  get isOnItsWay(): boolean {
    return this.held !== undefined && !this.isRefused
  }

  /** Waits for the decision; returns whether the turn is accepted. */
  readonly isAccepted: Effect.Effect<boolean> = Deferred.await(this.fate)

  /** The turn is accepted, and its first events have left. */
  accept(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const emit of held) emit()
    Deferred.doneUnsafe(this.fate, Exit.succeed(true))
  }

  /** The turn is not accepted. */
  refuse(): void {
    this.isRefused = true
    Deferred.doneUnsafe(this.fate, Exit.succeed(false))
  }

  /** Early.E1 */
  emitting<Event>(emit: (event: Event) => void): (event: Event) => void {
    return (event) => {
      if (this.held === undefined) emit(event)
      else this.held.push(() => emit(event))
    }
  }

  /** Its observations wait too (Early.E3). */
  observing(listeners: Observer.Listeners): Observer.Listeners {
    const held = <Kind extends keyof Observer.Observations>(kind: Kind) =>
      this.emitting((observation: Observer.Observations[Kind]) => Observer.notify(listeners, kind, observation))
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

  /** Early.E2. A write that fails before the turn is accepted is retried afterwards: it may have failed with the acceptance. */
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
