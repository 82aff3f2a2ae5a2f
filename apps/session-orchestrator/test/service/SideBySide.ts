/** Runs independent tests of one file side by side, a few at once. */
import { it } from "@effect/vitest"
import { Effect, Semaphore } from "effect"
import type * as It from "../It.ts"

/** Makes a file's `test`, for use in `describe.concurrent`. More at once, on two cores, would only wait for one another. */
export const atOnce = (count: number) => {
  const places = Semaphore.makeUnsafe(count)
  return (title: string, body: It.Body): void =>
    it.live(title, () => Effect.gen(body).pipe(Effect.scoped, places.withPermits(1)), TIMEOUT_MS)
}

/** Includes the time that a test waits for its place. The waits inside a test have shorter deadlines. */
const TIMEOUT_MS = 360_000
