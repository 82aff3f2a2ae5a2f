/**
 * Turns that wait on disk alone.
 *
 * P1. A parked turn is an entry here, its row and its records: no fiber, no messages, no session. It costs what a small row
 *     costs, however long its conversation is.
 * P2. It leaves exactly once: when its time has come, or when somebody wants something of it, whatever is first.
 * P3. A conversation has at most one, the turn at its head; those behind it stay in its session's queue.
 */
import type { Ids } from "@holdfast/wire"
import type { Timer } from "../durable/Timer.ts"
import type { Running } from "./Session.ts"

/** A turn that waits. */
export interface Parked {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly wakeAt: number
}

/** Why it is taken up again: what is done to its handles before it runs. */
export type Reason = (running: Running) => void

/** Its time has come. */
const elapsed: Reason = ({ wait }) => wait.elapse()

export class Parking {
  private readonly turns = new Map<Ids.ConversationId, Entry>()
  private readonly timer: Timer["Service"]
  private readonly takeUp: (conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason) => void

  constructor(
    timer: Timer["Service"],
    takeUp: (conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason) => void
  ) {
    this.timer = timer
    this.takeUp = takeUp
  }

  /** How many wait. */
  get size(): number {
    return this.turns.size
  }

  find(id: Ids.ConversationId): Parked | undefined {
    return this.turns.get(id)
  }

  park(conversationId: Ids.ConversationId, turnId: Ids.TurnId, wakeAt: number): void {
    const cancel = this.timer.at(wakeAt, () => this.leave(conversationId, elapsed))
    this.turns.set(conversationId, { turnId, wakeAt, cancel })
  }

  /** Lets go of all of them: they wait for whoever runs them next. */
  clear(): void {
    for (const { cancel } of this.turns.values()) cancel()
    this.turns.clear()
  }

  /** Takes a parked turn up; whether there was one. */
  leave(conversationId: Ids.ConversationId, reason: Reason): boolean {
    const entry = this.turns.get(conversationId)
    if (entry === undefined) return false
    this.turns.delete(conversationId) // P2
    entry.cancel()
    this.takeUp(conversationId, entry.turnId, reason)
    return true
  }
}

// --- internal

interface Entry extends Parked {
  readonly cancel: () => void
}
