/**
 * How parked turns come back: ahead of their time, at their time, or because somebody wants something of them.
 *
 * U1. Those whose time has come go on a few at a time, in the order of their times (`Turnstile`). One that somebody wants something of goes
 *     past them, whether it is in memory or not.
 * U2. Those whose time is near are read, and run up to their wait (`ReadAhead`). There they stand by, parked as before: what wakes them, and
 *     when, stays with `Parking`, so their time, their gate and their commands find them as they find any parked turn. Nothing is on
 *     record of it. A turn whose time comes while it is read stands by too, until the turnstile admits it (U1).
 * U3. One that its gate holds when it is due leaves memory again: nobody knows for how long. Whatever goes wrong with reading ahead is no
 *     news either: at its time such a turn comes anew.
 */
import type { Ids } from "@holdfast/wire"
import type { Timer } from "../durable/Timer.ts"
import { Parking, type Reason, type Runner } from "./Parking.ts"
import type { ParkingPlace } from "./ParkingPlace.ts"
import * as ReadAhead from "./ReadAhead.ts"
import type { RightOfWay } from "./RightOfWay.ts"
import type { Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as TurnLife from "./TurnLife.ts"
import { Turnstile } from "./Turnstile.ts"

export interface Dependencies {
  readonly timer: Timer["Service"]
  readonly place: ParkingPlace
  readonly rightOfWay: RightOfWay
  readonly sessions: Sessions
  /** Runs the turns of a session, where none of them runs: the one that is ahead of its time, or those that are queued. */
  readonly begin: (session: Session) => void
}

export class Waking implements Runner {
  readonly parking: Parking
  private readonly dependencies: Dependencies
  private readonly turnstile: Turnstile
  private readonly ahead: ReadAhead.ReadAhead<Ids.ConversationId>

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
    this.turnstile = new Turnstile(AT_ONCE, dependencies.rightOfWay, () => this.ahead.open())
    this.ahead = new ReadAhead.ReadAhead(
      AHEAD,
      () => this.turnstile.waiting === 0,
      (id, seat) => this.read(id, seat)
    )
    this.parking = new Parking(dependencies.timer, dependencies.place, this)
  }

  /** Nobody comes back any more: they wait for whoever runs them next. */
  close(): void {
    this.turnstile.close()
    this.ahead.close()
    this.parking.clear()
  }

  /** U2 */
  private read(conversationId: Ids.ConversationId, seat: ReadAhead.Place): boolean {
    const parked = this.parking.find(conversationId)
    if (parked === undefined || !this.parking.isReadable(conversationId)) return false
    const session = this.dependencies.sessions.wake(conversationId)
    session.add(parked.turnId, { _tag: "Ahead", seat }, "first")
    this.dependencies.begin(session)
    return true
  }

  takeUp(conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason): void {
    const { begin, sessions } = this.dependencies
    const session = sessions.wake(conversationId)
    if (session.ahead !== undefined) return this.call(session.ahead, reason)
    const turn = session.add(turnId, { _tag: "Queued" }, "first")
    reason(turn)
    if (turn.isCalled) return begin(session) // U1
    this.turnstile.come((leave) => {
      if (turn.move(TurnLife.admit(leave))) begin(session)
    })
  }

  /** Calls a turn that is in memory already. */
  private call(turn: TurnLife.TurnLife, reason: Reason): void {
    turn.move(TurnLife.call)
    reason(turn)
    if (turn.isCalled) return void turn.move(TurnLife.goOn) // U1
    this.turnstile.come((leave) => {
      if (turn.move(TurnLife.admit(leave))) turn.wait.ring()
    })
  }

  near(conversationId: Ids.ConversationId): void {
    this.ahead.near(conversationId)
  }

  held(conversationId: Ids.ConversationId, until: number): void {
    const session = this.dependencies.sessions.find(conversationId)
    session?.hub.held(until)
    session?.ahead?.wait.ring() // U3
  }
}

// --- internal

/**
 * How many turns come back into memory at once: as many as are read in one query, and whose waits end in one commit. More would
 * make the first of a crowd wait for the last; fewer, and each would have a sync of the disk to itself.
 */
const AT_ONCE = 64

/**
 * Ahead of their time so many are read in one query as keep the thread for some milliseconds, since others stream meanwhile. And so
 * many are in memory as one process wakes in a second or two, with no more text than takes some hundred megabytes there, however many
 * are due at once.
 */
const AHEAD: ReadAhead.Limits = { atOnce: 16, most: 2_048, mostSize: 64 * 1024 * 1024 }
