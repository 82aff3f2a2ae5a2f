/**
 * What a test does while a turn waits, on a machine that may be too slow for it.
 *
 * B1. A test that finds the wait over (`stillWaits`) proves nothing: it is done again from the start, with a longer wait.
 * B2. Whatever else fails, fails at once; and so does the longest wait.
 */
import { Data, Effect, type Scope } from "effect"

/** The turn may have woken. */
export class WaitIsOver extends Data.TaggedError("WaitIsOver") {
  override readonly message = "The wait was over before the test could look, three times."
}

/** Fails when a wait is over, or none was seen. A test calls it behind what it has looked at. */
export const stillWaits = (retryAt: number | undefined): Effect.Effect<void, WaitIsOver> =>
  Effect.suspend(() => (Date.now() < (retryAt ?? 0) ? Effect.void : Effect.fail(new WaitIsOver())))

/** Runs a test with a wait of so many seconds, and twice more with longer ones where those were too short. */
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

/** Times the wait that was asked for. */
const LONGEST = 9
