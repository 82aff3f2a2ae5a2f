/**
 * Brings parked turns back: ahead of their time, at their time, or for a command.
 *
 * Waking.U1. Turns whose time has come continue a few at a time, in the order of their times (`Turnstile`). A turn with a command or an
 *     abort passes them, whether it is in memory or not.
 * Waking.U2. Turns whose time is near are read, and run up to their wait (`ReadAhead`). There they stand by, parked as before: `Parking`
 *     keeps their wake and their time, so their time, their gate and their commands find them like any parked turn. None of this is
 *     recorded. A turn whose time comes while it is read stands by too, until the turnstile admits it (Waking.U1).
 * Waking.U3. A turn that its gate holds when it is due leaves memory again, as nothing bounds that time closely. A failure while a turn is
 *     read ahead is not reported: at its time the turn is read again.
 */
import type { Ids } from "@holdfast/wire"
import { type Parked, Parking, type Preparation, type ParkingListener } from "./Parking.ts"
import * as ReadAhead from "../pacing/ReadAhead.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import * as TurnLife from "../session/TurnLife.ts"
import { Turnstile } from "../pacing/Turnstile.ts"
import type { TurnServices } from "../turn/TurnServices.ts"

/** The parked turns of this process, and their ways back into memory. */
export class Waking implements ParkingListener {
  readonly parking: Parking
  private readonly sessions: Sessions
  private readonly begin: (session: Session) => void
  private readonly turnstile: Turnstile
  private readonly ahead: ReadAhead.ReadAhead<Near>

  /** `begin` runs the turns of a session, where none of them runs: the turn ahead of its time, or the queued turns. */
  constructor({ place, sessions, timer }: TurnServices, begin: (session: Session) => void) {
    this.sessions = sessions
    this.begin = begin
    this.turnstile = new Turnstile(AT_ONCE, () => this.ahead.open())
    this.ahead = new ReadAhead.ReadAhead(
      AHEAD,
      () => this.turnstile.waiting === 0,
      (near, slot) => this.read(near, slot)
    )
    this.parking = new Parking(timer, place, this)
  }

  /** No turn comes back any more: the next process, or the next owner, takes them up. */
  close(): void {
    this.turnstile.close()
    this.ahead.close()
    this.parking.clear()
  }

  /** Waking.U2 */
  private read({ conversationId, parked }: Near, slot: ReadAhead.Slot): boolean {
    // It may have been due meanwhile, and wait anew: that wait is reported when it is near.
    if (this.parking.find(conversationId) !== parked || !this.parking.isReadable(conversationId)) return false
    const session = this.sessions.wake(conversationId)
    session.add(parked.turnId, { _tag: "Ahead", slot }, "first")
    this.begin(session)
    return true
  }

  takeUp(conversationId: Ids.ConversationId, turnId: Ids.TurnId, prepare: Preparation): void {
    const session = this.sessions.wake(conversationId)
    if (session.ahead !== undefined) return this.call(session.ahead, prepare)
    const turn = session.add(turnId, { _tag: "Queued" }, "first")
    prepare(turn)
    if (turn.isCalled) return this.begin(session) // Waking.U1
    this.turnstile.request((leave) => {
      if (turn.move(TurnLife.admit(leave))) this.begin(session)
    })
  }

  /** Calls a turn that is in memory already. */
  private call(turn: TurnLife.TurnLife, prepare: Preparation): void {
    turn.move(TurnLife.call)
    prepare(turn)
    if (turn.isCalled) return void turn.move(TurnLife.goOn) // Waking.U1
    this.turnstile.request((leave) => {
      if (turn.move(TurnLife.admit(leave))) turn.wait.resume()
    })
  }

  near(conversationId: Ids.ConversationId, parked: Parked): void {
    this.ahead.near({ conversationId, parked })
  }

  held(conversationId: Ids.ConversationId, until: number): void {
    const session = this.sessions.find(conversationId)
    session?.hub.held(until)
    session?.ahead?.wait.resume() // Waking.U3
  }
}

// --- internal

/** A wait that is nearly over. */
interface Near {
  readonly conversationId: Ids.ConversationId
  readonly parked: Parked
}

/**
 * How many turns come back into memory at once: as many as are read in one query, and whose waits end in one commit. More would make the
 * first of a crowd wait for the last; with fewer, each would have a sync of the disk to itself.
 */
const AT_ONCE = 64

/**
 * `atOnce`: so many are read in one query as keep the thread for some milliseconds, since others stream meanwhile. `most`: as many as one
 * process wakes in a second or two. `mostSize`: text that takes some hundred megabytes in memory, however many turns are due at once.
 */
const AHEAD: ReadAhead.Limits = { atOnce: 16, most: 2_048, mostSize: 64 * 1024 * 1024 }
