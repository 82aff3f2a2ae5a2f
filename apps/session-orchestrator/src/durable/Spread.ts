/**
 * When turns start whose wake time passed while no process was up: one after another within a bounded window, not all at once
 * (X1). A plain function of the wake times and the present.
 *
 * A provider that comes back finds everybody who waited at its door; and a start that loads ten thousand conversations in one
 * go can do nothing else meanwhile.
 *
 * S1. A turn that is not due yet is not in the answer: it sleeps what is left, to the millisecond.
 * S2. The first starts at once, the others in the order of their wake times, `STEP_MS` apart while that fits into `WINDOW_MS`.
 * S3. Every one has started before `WINDOW_MS` are over, however many they are.
 */
import type { Ids } from "@holdfast/wire"

/** A hundred starts a second: a tenth of what one process was measured to do, and less than a client's burst. */
export const STEP_MS = 10

/** The longest that a person may have to wait for a turn that is due. From 3,000 turns on the steps are shorter. */
export const WINDOW_MS = 30_000

/** A turn asleep. */
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
