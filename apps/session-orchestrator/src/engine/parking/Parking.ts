/**
 * Keeps the turns that wait on disk alone, and wakes them.
 *
 * Parking.P2. A parked turn leaves exactly once: when its time has come or when a command arrives, whichever is first.
 * Parking.P4. A turn that waits for an endpoint with a gate leaves when the gate admits it: before its time, or after it (rule X5).
 * Parking.P5. A turn whose time is near is parked as before: its wake and its time stay here, whatever part of it is in memory already
 *     (`Waking`). A turn that the gate would hold is not reported as near.
 *
 * A parked turn is an entry here, its row and its records: no fiber, no messages, no session. It costs what a small row costs, however long its
 * conversation is. A conversation has at most one, the turn at its head; the turns behind it stay in its session's queue.
 */
import type { Timer } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { GateWait, GateTicket, Sleeper } from "../gate/Gatekeeper.ts"
import type { TurnLife } from "../session/TurnLife.ts"

/** A parked turn. */
export interface Parked {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly wakeAt: number
  /** Expected end of a hold beyond its time, in epoch milliseconds; `undefined`: it is not held. */
  readonly heldUntil: number | undefined
}

/** Why a turn is taken up again, as the change that is made to it before it runs. */
export type Preparation = (turn: TurnLife) => void

/** Its time has come. */
const elapsed: Preparation = ({ wait }) => wait.elapse()

/** Runs the turns that are parked here. */
export interface ParkingListener {
  /** A turn has left. */
  readonly takeUp: (conversationId: Ids.ConversationId, turnId: Ids.TurnId, prepare: Preparation) => void
  /** The time of a turn is near. */
  readonly near: (conversationId: Ids.ConversationId, parked: Parked) => void
  /** A turn is due and held, until `until` (epoch milliseconds) as far as known. */
  readonly held: (conversationId: Ids.ConversationId, until: number) => void
}

/**
 * How long before its time a turn is near. Two thousand turns are read in about this many milliseconds. A turn read earlier would be in
 * memory for longer than a wait that never leaves it.
 */
export const NEAR_MS = 4_000

/** Longest wait that stays in memory: leaving memory and returning costs a few reads of the disk. */
export const RESIDENT_MS = 5_000

/** The parked turns of this process, by conversation. */
export class Parking {
  private readonly turns = new Map<Ids.ConversationId, Entry>()
  private readonly timer: Timer.Timer["Service"]
  private readonly listener: ParkingListener

  constructor(timer: Timer.Timer["Service"], listener: ParkingListener) {
    this.timer = timer
    this.listener = listener
  }

  /** The number of parked turns. */
  get size(): number {
    return this.turns.size
  }

  /** The conversations whose turns are parked. */
  get conversations(): Iterable<Ids.ConversationId> {
    return this.turns.keys()
  }

  find(id: Ids.ConversationId): Parked | undefined {
    return this.turns.get(id)
  }

  /** Parks a turn until `wakeAt`, in epoch milliseconds. The gate may take it up again synchronously. */
  park(conversationId: Ids.ConversationId, turnId: Ids.TurnId, wakeAt: number, awaited?: GateWait): void {
    const entry = new Entry(turnId, wakeAt, awaited && this.sleeperOf(conversationId, awaited))
    entry.stop = this.timer.at(wakeAt, (isDue) => this.reached(conversationId, entry, isDue), NEAR_MS)
    this.turns.set(conversationId, entry)
    entry.sleeper?.gatekeeper.enter(entry.sleeper)
  }

  /** Releases all parked turns: the process that runs them next wakes them. */
  clear(): void {
    const entries = Array.from(this.turns.values())
    this.turns.clear()
    for (const entry of entries) entry.cancel()
  }

  /** Whether a turn is parked that will continue when its time comes, as far as its gate can predict. */
  isReadable(conversationId: Ids.ConversationId): boolean {
    const entry = this.turns.get(conversationId)
    if (entry === undefined || entry.heldUntil !== undefined) return false
    const { sleeper } = entry
    return sleeper === undefined || sleeper.isWanted || sleeper.gatekeeper.isOpen // Parking.P5
  }

  /** Takes a parked turn up; returns whether there was one. */
  leave(conversationId: Ids.ConversationId, prepare: Preparation): boolean {
    const entry = this.drop(conversationId)
    if (entry === undefined) return false
    this.listener.takeUp(conversationId, entry.turnId, prepare)
    return true
  }

  /** Removes a parked turn that continues without a wake from here. */
  drop(conversationId: Ids.ConversationId): Parked | undefined {
    const entry = this.turns.get(conversationId)
    this.turns.delete(conversationId) // Parking.P2
    entry?.cancel()
    return entry
  }

  private sleeperOf(conversationId: Ids.ConversationId, awaited: GateWait): Sleeper {
    return {
      ...awaited,
      wake: (ticket) => this.letIn(conversationId, ticket),
      held: (until) => {
        const entry = this.turns.get(conversationId)
        if (entry !== undefined) entry.heldUntil = until
        this.listener.held(conversationId, until)
      }
    }
  }

  /** The time of a turn is near, or has come. */
  private reached(conversationId: Ids.ConversationId, entry: Entry, isDue: boolean): void {
    const { sleeper } = entry
    if (!isDue) {
      if (this.isReadable(conversationId)) this.listener.near(conversationId, entry)
      return
    }
    if (sleeper === undefined) this.leave(conversationId, elapsed)
    else sleeper.gatekeeper.due(sleeper)
  }

  private letIn(conversationId: Ids.ConversationId, ticket: GateTicket): void {
    // Before its time the gate ends the wait by a command; at its time the wait is over.
    if (!this.leave(conversationId, (turn) => turn.letIn(ticket, () => elapsed(turn)))) ticket.giveBack()
  }
}

// --- internal

/** A class, so that ten thousand parked turns share its functions. */
class Entry implements Parked {
  readonly turnId: Ids.TurnId
  readonly wakeAt: number
  heldUntil: number | undefined = undefined
  /** Its place at a gate; absent: no gate decides when its wait ends. */
  readonly sleeper: Sleeper | undefined
  /** Removes it from the timer. */
  stop: () => void = nothing

  constructor(turnId: Ids.TurnId, wakeAt: number, sleeper: Sleeper | undefined) {
    this.turnId = turnId
    this.wakeAt = wakeAt
    this.sleeper = sleeper
  }

  /** Removes it from the timer and its gate. */
  cancel(): void {
    this.stop()
    this.sleeper?.gatekeeper.leave(this.sleeper)
  }
}

const nothing = (): void => {}
