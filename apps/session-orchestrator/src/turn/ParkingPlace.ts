/**
 * Where a turn waits that is parked: at its conversation, by default, for as long as that takes.
 *
 * A runner that lets a conversation go whose turn waits says here how the wait went on meanwhile, and hears what it has to see to
 * when it lets go.
 */
import { Context } from "effect"
import type { Awaited, Pass } from "../gate/Gatekeeper.ts"

/** A turn that begins to wait, or goes on waiting. */
export interface Waiting {
  /** Epoch milliseconds. */
  readonly wakeAt: number
  readonly awaited: Awaited | undefined
  /** Takes it out of the timer and its gate: from then on nothing of them wakes it here. */
  readonly letGo: () => void
}

export interface Place {
  /** When it goes on by the clock, in epoch milliseconds: its time, or later in a spread. */
  readonly startAt: number
  /** What the gate has told it while nobody had it in memory: it goes on with that at once. */
  readonly pass: Pass | undefined
  /** It sleeps no more: it goes on, or is held by its gate from now on. It may be called again. */
  readonly left: () => void
}

export interface ParkingPlace {
  readonly take: (waiting: Waiting) => Place
}

export const ParkingPlace = Context.Reference<ParkingPlace>(
  "@holdfast/session-orchestrator/conversation/ParkingPlace",
  { defaultValue: () => ({ take: ({ wakeAt }) => ({ startAt: wakeAt, pass: undefined, left: nobodyHears }) }) }
)

// --- internal

/** One for all who wait. */
const nobodyHears = (): void => {}
