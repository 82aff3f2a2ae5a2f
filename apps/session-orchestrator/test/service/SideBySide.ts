/** Tests of one file that run side by side, a few at once: they start processes and wait for facts, and share nothing. */
import { it } from "@effect/vitest"
import { Effect, type Scope, Semaphore } from "effect"

/** Makes a file's `test`, for use in `describe.concurrent`. More at once, on two cores, would only wait for one another. */
export const atOnce = (count: number) => {
  const places = Semaphore.makeUnsafe(count)
  return (title: string, run: () => Effect.Effect<unknown, unknown, Scope.Scope>): void =>
    it.live(title, () => run().pipe(Effect.scoped, places.withPermits(1)), TIMEOUT_MS)
}

/** It counts while a test waits for its place. What a test waits for in itself has shorter deadlines. */
const TIMEOUT_MS = 360_000
