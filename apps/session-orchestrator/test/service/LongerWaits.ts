/**
 * Repeats a test with a wait or a limit of time, if the machine was too slow.
 *
 * LongerWaits.B1. A test that finds the wait over (`stillWaits`) proves nothing: it is repeated from the start, with a longer wait.
 *     So is a test whose limit of time ended what it should not: a call that answers, and no stalled one.
 * LongerWaits.B2. Any other failure counts at once, and so does a failure with the longest wait.
 */
import { Data, Effect, type Scope } from "effect"

/** The turn may have woken, or the limit may have ended another call. */
export class WaitIsOver extends Data.TaggedError("WaitIsOver") {
  override readonly message = "The wait, or the limit, was over before the test could look, three times."
}

/** Fails when a wait is over, or none was seen. A test calls it after its checks. */
export const stillWaits = (retryAt: number | undefined): Effect.Effect<void, WaitIsOver> =>
  Effect.suspend(() => (Date.now() < (retryAt ?? 0) ? Effect.void : Effect.fail(new WaitIsOver())))

/** Runs a test with a wait of so many seconds, and up to twice more with longer ones if those were too short. */
export const withWait = <E, R>(
  seconds: number,
  test: (seconds: number) => Effect.Effect<void, E | WaitIsOver, R>
): Effect.Effect<void, E | WaitIsOver, Exclude<R, Scope.Scope>> => {
  const from = (factor: number): Effect.Effect<void, E | WaitIsOver, Exclude<R, Scope.Scope>> =>
    Effect.catch(Effect.scoped(test(factor * seconds)), (error) =>
      error instanceof WaitIsOver && factor < LONGEST ? from(factor * 3) : Effect.fail(error)
    )
  return from(1)
}

/** Factor of the longest wait to the requested one. */
const LONGEST = 9
