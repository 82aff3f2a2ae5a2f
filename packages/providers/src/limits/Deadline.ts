/**
 * Time limits on a provider that exclude the time in which this process was suspended.
 *
 * After a freeze (SIGSTOP, `docker pause`, a migrated VM), or after any block of the event loop, timers fire before sockets are
 * read. A plain limit would then fail a response whose bytes already lie in the socket.
 *
 * A sleep that ends much later than it was due continues for a grace period, in which the sockets are read. A grace period is as long as
 * the delay was, at most `GRACE_MS`. There are at most `GRACES`, so a busy process still has limits.
 */
import type { ProviderCall } from "@holdfast/kernel/host"

/** Milliseconds above which a timer counts as late. Timers of a busy process are late by less, and its sockets have been read. */
export const LATE_MS = 100

/** The longest grace period, in milliseconds: many times the time to read a full socket, and short beside every limit. */
export const GRACE_MS = 1_000

/** The most grace periods of one sleep. A process may be stopped several times in a row. */
const GRACES = 3

/** Calls back after at least `ms`. Returns a function that cancels it. */
export const after = (
  world: Pick<ProviderCall.World, "after" | "elapsed">,
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

// --- internal

const graceOf = (lateMs: number, graces: number): number | undefined =>
  lateMs > LATE_MS && graces > 0 ? Math.min(lateMs, GRACE_MS) : undefined
