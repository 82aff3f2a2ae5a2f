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
      // A delta of an accepted turn makes no closure.
      if (this.held === undefined) emit(event)
      else this.held.push(() => emit(event))
    }
  }

  /** Calls `emit` when the turn is accepted, behind what came before. */
  emit(emit: () => void): void {
    if (this.held === undefined) emit()
    else this.held.push(emit)
  }

  /** Its observations wait too (Early.E3). */
  observing(listeners: Observer.Listeners): Observer.Listeners {
    return this.held === undefined ? listeners : new EarlyListeners(this, listeners)
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

/** Methods, because every stream has these listeners until its turn ends. */
class EarlyListeners implements Required<Observer.Listeners> {
  private readonly early: Early
  private readonly listeners: Observer.Listeners

  constructor(early: Early, listeners: Observer.Listeners) {
    this.early = early
    this.listeners = listeners
  }

  attempt(observation: Observer.Observations["attempt"]): void {
    this.report("attempt", observation)
  }

  compaction(observation: Observer.Observations["compaction"]): void {
    this.report("compaction", observation)
  }

  decision(observation: Observer.Observations["decision"]): void {
    this.report("decision", observation)
  }

  event(observation: Observer.Observations["event"]): void {
    this.report("event", observation)
  }

  wait(observation: Observer.Observations["wait"]): void {
    this.report("wait", observation)
  }

  tool(observation: Observer.Observations["tool"]): void {
    this.report("tool", observation)
  }

  seal(observation: Observer.Observations["seal"]): void {
    this.report("seal", observation)
  }

  moved(observation: Observer.Observations["moved"]): void {
    this.report("moved", observation)
  }

  private report<Kind extends keyof Observer.Observations>(kind: Kind, observation: Observer.Observations[Kind]): void {
    this.early.emit(() => Observer.notify(this.listeners, kind, observation))
  }
}

const REFUSED = new TurnStopped.TurnStopped({ message: "The turn was not accepted." })
