/**
 * Delays an abort until a turn that resumes has restored its state.
 *
 * Before that the turn has not yet counted the events that it persisted in its last life, so a seal would take the position of one of them
 * and be lost. The state is restored at the first effect without a record: there an abort takes effect before that effect runs.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Schema from "effect/Schema"
import type { Checkpoint } from "../../ports/Checkpoint.ts"

/** A checkpoint that detects when a turn has restored its state. */
export class AbortGate {
  /** The same checkpoint, which detects when the first effect without a record is about to run. */
  readonly checkpoint: Checkpoint["Service"]
  /** An abort has ended the turn, whose state is restored: it is to be sealed. */
  hasEnded = false
  private isAborted = false
  private isOpen = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined

  constructor(checkpoint: Checkpoint["Service"]) {
    this.checkpoint = {
      ...checkpoint,
      run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
        checkpoint.run(name, schema, this.isOpen ? effect : Effect.andThen(this.open, effect))
    }
  }

  /** The turn, whose fiber an abort ends. */
  ends<A, E>(turn: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.withFiber((fiber) => {
      this.fiber = fiber
      return turn
    })
  }

  /** Aborts the turn, as soon as it has restored its state. */
  readonly abort = (): void => {
    this.isAborted = true
    if (this.isOpen) this.end()
  }

  private readonly open: Effect.Effect<void> = Effect.suspend(() => {
    this.isOpen = !this.isAborted
    if (this.isOpen) return Effect.void
    this.end()
    // Gives way to the end of the turn. Several tools may come here at once, in fibers of their own, and each gives way.
    return Effect.yieldNow
  })

  private end(): void {
    this.hasEnded = true
    this.fiber?.interruptUnsafe()
  }
}
