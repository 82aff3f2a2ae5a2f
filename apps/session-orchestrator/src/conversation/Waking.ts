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
import { Deferred } from "effect"
import type { Timer } from "../durable/Timer.ts"
import { Parking, type Reason } from "./Parking.ts"
import type { ParkingPlace } from "./ParkingPlace.ts"
import * as ReadAhead from "./ReadAhead.ts"
import type { RightOfWay } from "./RightOfWay.ts"
import { type Running, running as handlesOf, type Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import { Turnstile } from "./Turnstile.ts"

export interface Dependencies {
  readonly timer: Timer["Service"]
  readonly place: ParkingPlace
  readonly rightOfWay: RightOfWay
  readonly sessions: Sessions
  /** Runs the turns that are queued, where none of the session's runs. */
  readonly begin: (session: Session) => void
  /** Runs a turn that is still parked up to its wait. */
  readonly prepare: (session: Session, running: Running) => void
}

export class Waking {
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
      (id, place) => this.read(id, place)
    )
    this.parking = new Parking(dependencies.timer, dependencies.place, {
      takeUp: (conversationId, turnId, reason) => this.takeUp(conversationId, turnId, reason),
      near: (conversationId) => this.ahead.near(conversationId),
      held: (conversationId, until) => this.held(conversationId, until)
    })
  }

  /** Nobody comes back any more: they wait for whoever runs them next. */
  close(): void {
    this.turnstile.close()
    this.ahead.close()
    this.parking.clear()
  }

  /** U2 */
  private read(conversationId: Ids.ConversationId, place: ReadAhead.Place): boolean {
    const parked = this.parking.find(conversationId)
    if (parked === undefined || !this.parking.isReadable(conversationId)) return false
    this.dependencies.prepare(this.dependencies.sessions.wake(conversationId), {
      ...handlesOf(parked.turnId),
      ahead: place
    })
    return true
  }

  private takeUp(conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason): void {
    const { begin, sessions } = this.dependencies
    const session = sessions.wake(conversationId)
    // Of a conversation whose head is parked nothing runs but that turn itself, ahead of its time.
    if (session.running !== undefined) return this.call(session.running, reason)
    const running = handlesOf(turnId)
    reason(running)
    session.queue.unshift(running)
    if (isCalled(running)) return begin(session) // U1
    this.turnstile.come((leave) => {
      // A command or a prompt that came meanwhile has begun the session's turns, this one first.
      if (session.queue[0] !== running) return leave()
      running.leaveTurnstile = leave
      begin(session)
    })
  }

  /** Calls a turn that is in memory already. */
  private call(running: Running, reason: Reason): void {
    const { ahead } = running
    running.ahead = undefined
    reason(running)
    if (isCalled(running)) return ahead?.leave() // U1
    running.isOutside = true
    this.turnstile.come((leave) => {
      running.isOutside = false
      ahead?.leave()
      // A command that came meanwhile has taken it out of its wait, or moved the end of that.
      if (!running.wait.hasNews) return leave()
      running.leaveTurnstile = leave
      running.wait.ring()
    })
  }

  private held(conversationId: Ids.ConversationId, until: number): void {
    const session = this.dependencies.sessions.find(conversationId)
    session?.hub.held(until)
    session?.running?.wait.ring() // U3
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

/** Whether a person, or a gate, wants something of a turn. */
const isCalled = ({ abort, wait }: Running): boolean => Deferred.isDoneUnsafe(abort) || wait.isSteered
