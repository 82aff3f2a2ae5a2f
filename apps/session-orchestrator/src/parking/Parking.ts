/**
 * Turns that wait on disk alone.
 *
 * P1. A parked turn is an entry here, its row and its records: no fiber, no messages, no session. It costs what a small row
 *     costs, however long its conversation is.
 * P2. It leaves exactly once: when its time has come, or when somebody wants something of it, whatever is first.
 * P3. A conversation has at most one, the turn at its head; those behind it stay in its session's queue.
 * P4. One that waits for an endpoint with a gate leaves when that lets it in: before its time, or after it (X5).
 * P5. One whose time is near is parked all the same: what wakes it, and when, stays here, whatever of it is in memory already
 *     (`ReadAhead`). Nobody is told to read one that the gate would hold.
 */
import type { Timer } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { Awaited, Pass, Sleeper } from "../gate/Gatekeeper.ts"
import type { ParkingPlace } from "../turn/ParkingPlace.ts"
import type { TurnLife } from "../session/TurnLife.ts"

/** A turn that waits. */
export interface Parked {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly wakeAt: number
  /** Until when it is held beyond its time, as far as is known, in epoch milliseconds; `undefined`: it is not. */
  readonly heldUntil: number | undefined
}

/** Why it is taken up again: what is done to its handles before it runs. */
export type Reason = (turn: TurnLife) => void

/** Its time has come. */
const elapsed: Reason = ({ wait }) => wait.elapse()

/** Who runs the turns that wait here. */
export interface Runner {
  /** One has left. */
  readonly takeUp: (conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason) => void
  /** The time of one is near. */
  readonly near: (conversationId: Ids.ConversationId) => void
  /** One is due and held, until then as far as is known. */
  readonly held: (conversationId: Ids.ConversationId, until: number) => void
}

/**
 * How long before its time a turn is near. Two thousand are read in about as many milliseconds, and whoever came back earlier would
 * be in memory for longer than a wait that never left it.
 */
export const NEAR_MS = 4_000

export class Parking {
  private readonly turns = new Map<Ids.ConversationId, Entry>()
  private readonly timer: Timer.Timer["Service"]
  private readonly place: ParkingPlace
  private readonly runner: Runner

  constructor(timer: Timer.Timer["Service"], place: ParkingPlace, runner: Runner) {
    this.timer = timer
    this.place = place
    this.runner = runner
  }

  /** How many wait. */
  get size(): number {
    return this.turns.size
  }

  find(id: Ids.ConversationId): Parked | undefined {
    return this.turns.get(id)
  }

  /** Parks a turn. The gate may have it taken up again on the spot. */
  park(conversationId: Ids.ConversationId, turnId: Ids.TurnId, wakeAt: number, awaited?: Awaited): void {
    const sleeper: Sleeper | undefined = awaited && {
      ...awaited,
      wake: (pass) => this.letIn(conversationId, pass),
      held: (until) => {
        entry.heldUntil = until
        this.runner.held(conversationId, until)
      }
    }
    const letGo = () => {
      stop()
      sleeper?.gatekeeper.leave(sleeper)
    }
    const { left, pass, startAt } = this.place.take({ wakeAt, awaited, letGo })
    const wake = (isDue: boolean): void => {
      if (!isDue) {
        if (this.isReadable(conversationId)) this.runner.near(conversationId)
        return
      }
      left()
      if (sleeper === undefined) this.leave(conversationId, elapsed)
      else sleeper.gatekeeper.due(sleeper)
    }
    const stop = this.timer.at(startAt, wake, NEAR_MS)
    const cancel = () => {
      letGo()
      left()
    }
    const entry: Entry = { turnId, wakeAt, heldUntil: undefined, awaited, cancel }
    this.turns.set(conversationId, entry)
    if (pass !== undefined) this.letIn(conversationId, pass)
    else sleeper?.gatekeeper.enter(sleeper)
  }

  /** Lets go of all of them: they wait for whoever runs them next. */
  clear(): void {
    const entries = Array.from(this.turns.values())
    this.turns.clear()
    for (const { cancel } of entries) cancel()
  }

  /** Whether a turn is parked that will go on when its time comes, as far as its gate can say. */
  isReadable(conversationId: Ids.ConversationId): boolean {
    const entry = this.turns.get(conversationId)
    if (entry === undefined || entry.heldUntil !== undefined) return false
    const { awaited } = entry
    return awaited === undefined || awaited.isWanted || awaited.gatekeeper.isOpen // P5
  }

  /** Takes a parked turn up; whether there was one. */
  leave(conversationId: Ids.ConversationId, reason: Reason): boolean {
    const entry = this.drop(conversationId)
    if (entry === undefined) return false
    this.runner.takeUp(conversationId, entry.turnId, reason)
    return true
  }

  /** Forgets a turn that waits no more, though nothing has woken it. */
  drop(conversationId: Ids.ConversationId): Parked | undefined {
    const entry = this.turns.get(conversationId)
    this.turns.delete(conversationId) // P2
    entry?.cancel()
    return entry
  }

  private letIn(conversationId: Ids.ConversationId, pass: Pass): void {
    if (!this.leave(conversationId, (turn) => turn.letIn(pass, () => elapsed(turn)))) pass.giveBack()
  }
}

// --- internal

interface Entry extends Parked {
  heldUntil: number | undefined
  readonly awaited: Awaited | undefined
  readonly cancel: () => void
}
