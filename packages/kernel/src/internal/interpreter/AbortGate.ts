/**
 * Delays an abort until a turn that resumes has restored its state.
 *
 * Before that the turn has not yet counted the events that it persisted in its last life, so a seal would take the position of one of them
 * and be lost. The state is restored at the first effect without a record: there an abort takes effect before that effect runs.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Checkpoint } from "../../ports/Checkpoint.ts"

/** A checkpoint that detects when a turn has restored its state. */
export class AbortGate {
  /** The same checkpoint, which detects when the first effect without a record is about to run. */
  readonly checkpoint: Checkpoint["Service"]
  private readonly latch = Deferred.makeUnsafe<void>()
  private isOpen = false

  constructor(checkpoint: Checkpoint["Service"]) {
    this.checkpoint = {
      ...checkpoint,
      run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
        checkpoint.run(name, schema, this.isOpen ? effect : Effect.andThen(this.open, effect))
    }
  }

  /** Succeeds when the turn has restored its state. */
  get reached(): Effect.Effect<void> {
    return Deferred.await(this.latch)
  }

  private readonly open: Effect.Effect<void> = Effect.suspend(() => {
    // Gives way once, so that an abort that was waiting comes first. Several tools may come here at once, and each gives way.
    return Deferred.succeed(this.latch, undefined).pipe(
      Effect.andThen(Effect.yieldNow),
      Effect.andThen(Effect.sync(() => void (this.isOpen = true)))
    )
  })
}
