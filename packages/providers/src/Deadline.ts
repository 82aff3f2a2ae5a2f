/**
 * Sleeps that end a wait for a provider, and do not blame it for the time in which this process stood still.
 *
 * After a freeze (SIGSTOP, `docker pause`, a VM that moved) and after anything else that blocks the event loop, timers fire before
 * sockets are read: a limit would fail an answer whose words have been here all along.
 *
 * D1. A sleep that ends much later than it was due goes on for a grace, in which the sockets are read.
 * D2. A grace is as long as the delay was, and at most `GRACE_MS`. There are `GRACES` at most, so that a busy process still has limits.
 */
import type { Opening } from "@holdfast/kernel"
import { Effect } from "effect"

/** Timers of a busy process are late by some milliseconds, and nothing is to be read then that was not read before. */
export const LATE_MS = 100

/** Many times what it takes to read what a socket holds, and short beside every limit. */
export const GRACE_MS = 1_000

/** Someone who stops a process stops it more than once. */
export const GRACES = 3

/** Sleeps at least so long. */
export const sleep = (ms: number, graces = GRACES): Effect.Effect<void> =>
  Effect.clockWith((clock) => {
    const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    const dueAt = now() + ms
    return Effect.flatMap(Effect.sleep(ms), () => {
      const grace = graceOf(now() - dueAt, graces)
      return grace === undefined ? Effect.void : sleep(grace, graces - 1)
    })
  })

/** The same without a fiber: calls back after at least so long, and returns what takes that back. */
export const after = (
  world: Pick<Opening.World, "after" | "elapsed">,
  ms: number,
  act: () => void,
  graces = GRACES
): (() => void) => {
  const dueAt = world.elapsed() + ms
  let stop = world.after(ms, () => {
    const grace = graceOf(world.elapsed() - dueAt, graces)
    if (grace === undefined) act()
    else stop = after(world, grace, act, graces - 1)
  })
  return () => stop()
}

/** Runs an effect for at most so long. */
export const within = (effect: Effect.Effect<void>, ms: number): Effect.Effect<void> =>
  Effect.raceFirst(effect, sleep(ms))

// --- internal

/** D1, D2 */
const graceOf = (lateMs: number, graces: number): number | undefined =>
  lateMs > LATE_MS && graces > 0 ? Math.min(lateMs, GRACE_MS) : undefined
