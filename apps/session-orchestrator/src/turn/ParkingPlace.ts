/**
 * Decides when and how a parked turn's wait continues; by default unchanged.
 *
 * A runner that has released a conversation with a waiting turn supplies the state of that wait. It is notified when it has to release the
 * conversation again.
 */
import type { Ids } from "@holdfast/wire"
import { Context } from "effect"
import type { GateWait, GateTicket } from "../gate/Gatekeeper.ts"

/** A turn that begins to wait, or continues to wait. */
export interface Waiting {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly wakeAt: number
  readonly awaited: GateWait | undefined
  /** Removes the turn from the timer and its gate: neither wakes it here afterwards. */
  readonly release: () => void
}

/** How one turn's wait continues. */
export interface ParkingSpot {
  /** When the turn continues by the clock, in epoch milliseconds: its time, or later in a spread. */
  readonly startAt: number
  /** The gate's decision from the time without an owner: the turn continues with it at once. */
  readonly ticket: GateTicket | undefined
  /** Called when the turn does not sleep any more: it continues, or its gate holds it. May be called several times. */
  readonly left: () => void
}

/** Takes each turn that begins to wait. */
export interface ParkingPlace {
  readonly take: (waiting: Waiting) => ParkingSpot
}

/** The process's parking place; by default turns wait unchanged. */
export const ParkingPlace = Context.Reference<ParkingPlace>("@holdfast/session-orchestrator/turn/ParkingPlace", {
  defaultValue: () => ({ take: ({ wakeAt }) => ({ startAt: wakeAt, ticket: undefined, left: nothing }) })
})

// --- internal

/** Shared by all waits. */
const nothing = (): void => {}
