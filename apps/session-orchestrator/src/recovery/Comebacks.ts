/**
 * How long a conversation waits, when a turn of it was stopped, before it begins anew from its records. Pure but for its memory of who
 * was stopped last.
 *
 * B1. The first time it does not wait: somebody else had written, and it goes on from what is there now.
 * B2. One that is stopped again soon waits, and longer each time: its turn may say for good something else than it has on disk. So it
 *     never waits for much longer than that has gone on already.
 * B3. Once it has run for `SETTLED_MS` its next stop is a first one, and nothing is kept of it here.
 */
import type { Ids } from "@holdfast/wire"

/** A run that lasts for so long has not stopped where the one before it did: its records are read again within seconds. */
export const SETTLED_MS = 60_000

/** Reading a conversation and running it up to where it stopped takes less. */
export const FIRST_MS = 1_000

/** Up to here: whoever has mended what stopped it need not start the runner again, and the log has two lines of it each time. */
export const MOST_MS = 300_000

export class Comebacks {
  /** Those that were stopped not long ago, the last one last. */
  private readonly stops = new Map<Ids.ConversationId, Stop>()

  /**
   * A turn of a conversation was stopped.
   *
   * @param now epoch milliseconds
   * @returns milliseconds until it begins anew
   */
  stopped(id: Ids.ConversationId, now: number): number {
    this.forget(now)
    const last = this.stops.get(id)
    const delayMs = last === undefined || isSettled(last, now) ? 0 : next(last)
    this.stops.delete(id)
    this.stops.set(id, { delayMs, backAt: now + delayMs })
    return delayMs
  }

  /** How many are kept. */
  get size(): number {
    return this.stops.size
  }

  /** B3. One that is not settled keeps those behind it for as long: what stays is what was stopped within some minutes. */
  private forget(now: number): void {
    for (const [id, stop] of this.stops) {
      if (!isSettled(stop, now)) return
      this.stops.delete(id)
    }
  }
}

// --- internal

interface Stop {
  readonly delayMs: number
  /** When it was to begin anew; epoch milliseconds. */
  readonly backAt: number
}

const isSettled = ({ backAt }: Stop, now: number): boolean => now >= backAt + SETTLED_MS

/** B2 */
const next = ({ delayMs }: Stop): number => Math.min(MOST_MS, Math.max(FIRST_MS, 2 * delayMs))
