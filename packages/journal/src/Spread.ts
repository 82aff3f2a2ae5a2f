/**
 * Spreads the starts of turns whose wake time passed while no process ran (rule X1).
 *
 * A pure function of the wake times and the present. Without it a provider that recovers would receive the calls of all waiting turns
 * at once, and a start that loads ten thousand conversations together could do nothing else meanwhile.
 *
 * - A turn that is not due yet is not in the result: it sleeps the rest of its wait, to the millisecond.
 * - The first starts at once, the others in the order of their wake times, `STEP_MS` apart while that fits into `WINDOW_MS`.
 * - Every due turn has started before `WINDOW_MS` have passed, whatever their number.
 */
import type { Ids } from "@holdfast/wire"

/** Milliseconds between two starts: a hundred starts a second, a tenth of the measured rate of one process, and less than a client's burst. */
export const STEP_MS = 10

/** The longest time, in milliseconds, that a person waits for a turn that is due. From 3,000 turns on the steps are shorter. */
export const WINDOW_MS = 30_000

/** A turn that waits, and the end of its wait. */
export interface Sleeper {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly wakeAt: number
}

/** The start of each turn that is due, in epoch milliseconds. */
export const startsOf = (sleepers: ReadonlyArray<Sleeper>, now: number): ReadonlyMap<Ids.TurnId, number> => {
  const due = sleepers.filter(({ wakeAt }) => wakeAt <= now).sort((a, b) => a.wakeAt - b.wakeAt)
  const stepMs = Math.min(STEP_MS, WINDOW_MS / Math.max(1, due.length))
  return new Map(due.map(({ turnId }, place) => [turnId, now + place * stepMs]))
}
