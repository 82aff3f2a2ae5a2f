/**
 * Decides how long a stopped conversation waits before its turn restarts from its records.
 *
 * RestartDelays.B1. The first restart is immediate: another process had written, and the turn continues from the records that are there now.
 * RestartDelays.B2. A conversation that is stopped again soon waits, and longer each time, because its turn may never repeat its records. It
 *     never waits much longer than the trouble has lasted.
 * RestartDelays.B3. Once a conversation has run for `SETTLED_MS`, its next stop counts as a first one, and nothing is kept here.
 *
 * Pure, except for its memory of the latest stops.
 */
import type { Ids } from "@holdfast/wire"

/** A run of this length has passed the point where it stopped before: reading its records again takes seconds. */
export const SETTLED_MS = 60_000

/** Reading a conversation and running it to the point where it stopped takes less time. */
export const FIRST_MS = 1_000

/**
 * The longest delay. After an operator has removed the cause, the turn restarts within this time without a restart of the runner. Each
 * restart writes two log lines.
 */
export const MOST_MS = 300_000

/** The delays of conversations that were stopped not long ago. */
export class RestartDelays {
  /** The latest stop of each conversation, the newest last. */
  private readonly stops = new Map<Ids.ConversationId, Stop>()

  /**
   * Records that a turn of a conversation was stopped.
   *
   * @param now epoch milliseconds
   * @returns milliseconds until its turn restarts
   */
  stopped(id: Ids.ConversationId, now: number): number {
    this.forget(now)
    const last = this.stops.get(id)
    const delayMs = last === undefined || isSettled(last, now) ? 0 : next(last)
    this.stops.delete(id)
    this.stops.set(id, { delayMs, backAt: now + delayMs })
    return delayMs
  }

  /** The number of conversations that are kept. */
  get size(): number {
    return this.stops.size
  }

  /** RestartDelays.B3. An unsettled conversation keeps those behind it too: all that stays was stopped within some minutes. */
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
  /** The planned restart, in epoch milliseconds. */
  readonly backAt: number
}

const isSettled = ({ backAt }: Stop, now: number): boolean => now >= backAt + SETTLED_MS

/** RestartDelays.B2 */
const next = ({ delayMs }: Stop): number => Math.min(MOST_MS, Math.max(FIRST_MS, 2 * delayMs))
