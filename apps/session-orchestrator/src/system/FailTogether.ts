/**
 * A line that calls pass one at a time, in the order of their arrival.
 *
 * FailTogether.F1. When a call fails with an error that concerns all, the calls that wait in the line fail with it: each would take as long
 *     to fail the same way.
 * FailTogether.F2. A call that arrives after that is made.
 */
import { Effect, Semaphore } from "effect"

/** Runs calls in order; a shared error fails the whole line. */
export class FailTogether<F> {
  private readonly permit = Semaphore.makeUnsafe(1)
  private readonly concernsAll: (error: unknown) => error is F
  /** The last shared error of the line, and the number of them. */
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
          ? Effect.fail(this.last.error) // FailTogether.F1
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
