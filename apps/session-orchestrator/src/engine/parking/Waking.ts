/**
 * Brings parked turns back: ahead of their time, at their time, or for a command.
 *
 * Waking.U1. Turns whose time has come continue a few at a time, in the order of their times (`WakeQueue`), and so do those that their last
 *     process left in the middle of something. A turn with a command or an abort passes them, whether it is in memory or not.
 * Waking.U2. Turns whose time is near are read, and run up to their wait. There they stand by, parked as before: `Parking` keeps their wake
 *     and their time, so their time, their gate and their commands find them like any parked turn. None of this is recorded, and a failure
 *     is not reported: at its time the turn is read again. A turn whose time comes while it is read stands by too, until it gets a place.
 * Waking.U3. A turn that its gate holds when it is due leaves memory again, as nothing bounds that time closely.
 */
import type { Ids } from "@holdfast/wire"
import { type Place, WakeQueue } from "../pacing/WakeQueue.ts"
import type { Session, Sessions } from "../session/Session.ts"
import type { TurnLife } from "../session/TurnLife.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import { type Parked, Parking, type ParkingListener, type Preparation } from "./Parking.ts"

/** The parked turns of this process, and their ways back into memory. */
export class Waking implements ParkingListener {
  readonly parking: Parking
  private readonly sessions: Sessions
  private readonly begin: (session: Session) => void
  private readonly queue = new WakeQueue(LIMITS)

  /** `begin` runs the turns of a session, where none of them runs: the turn ahead of its time, or the queued turns. */
  constructor({ sessions, timer }: TurnServices, begin: (session: Session) => void) {
    this.sessions = sessions
    this.begin = begin
    this.parking = new Parking(timer, this)
  }

  /** No turn comes back any more: the next process, or the next owner, takes them up. */
  close(): void {
    this.queue.close()
    this.parking.clear()
  }

  takeUp(conversationId: Ids.ConversationId, turnId: Ids.TurnId, prepare: Preparation): void {
    const session = this.sessions.wake(conversationId)
    const turn = session.ahead ?? session.add(turnId, "queued", "first")
    turn.call()
    prepare(turn)
    if (turn.isCalled) {
      turn.goOn()
      return this.begin(session) // Waking.U1
    }
    this.resume(session, turn)
  }

  /** Runs a turn that is due, or that its last process left in the middle of something, when it gets a place. */
  resume(session: Session, turn: TurnLife): void {
    const { standsBy } = turn
    this.queue.add("due", (place) => {
      if (!turn.admit(place)) return
      if (standsBy) turn.wait.resume()
      else this.begin(session)
    })
  }

  near(conversationId: Ids.ConversationId, parked: Parked): void {
    this.queue.add("near", (slot) => this.read(conversationId, parked, slot))
  }

  held(conversationId: Ids.ConversationId, until: number): void {
    const session = this.sessions.find(conversationId)
    session?.hub.held(until)
    session?.ahead?.wait.resume() // Waking.U3
  }

  /** Waking.U2 */
  private read(conversationId: Ids.ConversationId, parked: Parked, slot: Place): void {
    // It may have been due meanwhile, and wait anew: that wait is reported when it is near.
    if (this.parking.find(conversationId) !== parked || !this.parking.isReadable(conversationId)) return slot.leave()
    const session = this.sessions.wake(conversationId)
    session.add(parked.turnId, "parked", "first").hold("slot", slot)
    this.begin(session)
  }
}

// --- internal

/**
 * `atOnce`: as many as are read in one query, and whose waits end in one commit. More would make the first of a crowd wait for the last; with
 * fewer, each would have a sync of the disk to itself. `reading`: as keep the thread for some milliseconds, since others stream meanwhile.
 * `ahead`: as many as one process wakes in a second or two. `size`: text that takes some hundred megabytes in memory.
 */
const LIMITS = { atOnce: 64, reading: 16, ahead: 2_048, size: 64 * 1024 * 1024 }
