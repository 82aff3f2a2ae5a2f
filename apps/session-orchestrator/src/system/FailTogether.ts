/**
 * A line that calls pass one at a time, in the order of their arrival.
 *
 * F1. When a call fails with an error that concerns all, the calls that wait in the line fail with it: each would take as long to meet
 *     the same.
 * F2. A call that comes after that is made.
 */
import { Effect, Semaphore } from "effect"

export class FailTogether<F> {
  private readonly permit = Semaphore.makeUnsafe(1)
  private readonly concernsAll: (error: unknown) => error is F
  /** What the line has failed with at last, and how often it has. */
  private last: { readonly error: F } | undefined = undefined
  private failures = 0

  constructor(concernsAll: (error: unknown) => error is F) {
    this.concernsAll = concernsAll
  }

  /** Makes a call when the calls that came before have ended. */
  pass<A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | F, R> {
    return Effect.suspend(() => {
      const arrivedAt = this.failures
      const inTurn = Effect.suspend((): Effect.Effect<A, E | F, R> =>
        this.last !== undefined && this.failures !== arrivedAt
          ? Effect.fail(this.last.error) // F1
          : Effect.tapError(call, (error) => Effect.sync(() => this.note(error)))
      )
      return this.permit.withPermits(1)(inTurn)
    })
  }

  private note(error: unknown): void {
    if (!this.concernsAll(error)) return
    this.last = { error }
    this.failures++
  }
}
