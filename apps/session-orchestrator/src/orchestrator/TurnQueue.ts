/**
 * Runs accepted turns on fibers: one at a time per conversation, in order.
 *
 * TurnQueue.Q1. A conversation has a fiber only while it has turns to run.
 * TurnQueue.Q2. While the first turn of a conversation is parked (`Parking`), the others stay queued.
 * TurnQueue.Q3. A turn whose model or settings are no longer in the configuration is sealed as failed, with the reason. It does not block
 *     the turns behind it.
 * TurnQueue.Q4. No turn passes an unsealed turn before it. A turn that stops unsealed is run again from its records. After a defect of the
 *     service that happens twice, and then it is sealed as failed (rule C10). After another process has written, it happens at growing
 *     intervals (`RestartDelays`), and its callers get the error. An abort ends the turn at any of these moments.
 * TurnQueue.Q5. A parked turn that is wanted is reached through its session from that moment on, by handles that stay the same. No command
 *     or abort is lost while it leaves memory, or while it is read from the disk; they are taken in their order.
 * TurnQueue.Q6. A turn that is in memory ahead of its time and stops there is still parked: nothing is reported of it.
 * TurnQueue.Q7. Callers that wait for a command's record, or for a seal, get the error of a turn that has stopped instead.
 * TurnQueue.Q8. A turn that may take the process down runs alone (`Quarantine`). A turn that did so again is sealed without being run
 *     (rule X14). An orderly stop of the service is recorded, so that it counts as no death.
 * TurnQueue.Q10. A released turn stops unsealed, wherever it is: parked, about to run, or in a fiber. It does not run until it is readmitted.
 */
import { TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Cause, Clock, type Deferred, Effect, Exit, Fiber, identity, Option } from "effect"
import * as Driver from "../driver/Driver.ts"
import type { GateWait } from "../gate/Gatekeeper.ts"
import type { Parking } from "../parking/Parking.ts"
import { Waking } from "../parking/Waking.ts"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import { RestartDelays } from "../recovery/RestartDelays.ts"
import { Seals } from "../session/Seals.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import * as TurnLife from "../session/TurnLife.ts"
import type { Turn } from "../storage/Store.ts"
import type * as Handover from "../turn/Handover.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import * as TurnServices from "../turn/TurnServices.ts"
import * as InScope from "../system/InScope.ts"
import * as FiberTurn from "./FiberTurn.ts"

/** The accepted turns of this process. */
export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turnId: Ids.TurnId, known?: TurnLife.Known) => Effect.Effect<void>
  /** Runs the turns of a session now, instead of when the first gets its place: a command has arrived. */
  readonly hasten: (session: Session) => void
  /** Stops the turn of a conversation unsealed, and takes it out of memory (TurnQueue.Q10). */
  readonly release: (id: Ids.ConversationId) => Effect.Effect<void>
  /**
   * Does that with all conversations that another process has from now on, and ends their streams and the calls that wait for their turns.
   * Returns those that were in memory or parked.
   */
  readonly giveUp: (isMeant: (id: Ids.ConversationId) => boolean) => Effect.Effect<ReadonlyArray<Ids.ConversationId>>
  /** Lets turns of the conversation run again. */
  readonly readmit: (id: Ids.ConversationId) => void
  /** The outcome of a turn from now on: its seal, or the error of its stop. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  /** The same of a turn that is here, without a fiber for each caller; `undefined` if it is not here. */
  readonly sealHere: (
    turn: Pick<Turn, "conversationId" | "turnId">
  ) => Effect.Effect<TurnEvent.TurnEnd | undefined, TurnStopped.TurnStopped>
  /** Whether a turn runs here, waits for those before it, or is parked. */
  readonly has: (turn: Pick<Turn, "conversationId" | "turnId">) => boolean
  /** The turns that wait on disk alone. */
  readonly parking: Parking
}

/** A queue whose turns stop, unsealed, with the scope. `down` is done when the service shuts down. */
export const make = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const services = yield* TurnServices.collect(sessions, down)
  // Runs after the fibers have ended: a runner continues without this conversation, so gates must get their tickets back (Gatekeeper.K1).
  yield* InScope.atEnd(
    Effect.sync(() => {
      for (const { turns } of sessions) for (const turn of turns.slice()) turn.end(Exit.fail(TurnRunner.shuttingDown))
    })
  )
  const fork = yield* InScope.fork
  const queue = new Queue(services, fork)
  yield* InScope.atEnd(Effect.sync(() => queue.close()))
  // Finalizers run in reverse order, so this one runs first: the turns still run.
  yield* InScope.atEnd(InterruptedTurns.recordOrderlyStop(services))
  return queue
})

// --- internal

/** How long turns may take to stop, before another process runs them. */
const STOP_LIMIT = "5 seconds"

/** A turn that leaves memory, by its gate. */
interface Leaving {
  /** Epoch milliseconds. */
  readonly retryAt: number
  readonly awaited: GateWait | undefined
}

type Outcome = Exit.Exit<TurnEvent.TurnEnd, TurnStopped.TurnStopped>

class Queue implements TurnQueue {
  readonly parking: Parking
  private readonly services: TurnServices.TurnServices
  private readonly sessions: Sessions
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly driver: Driver.Driver
  private readonly waking: Waking
  private readonly seals = new Seals()
  /** Conversations whose turns do not run (TurnQueue.Q10), each with the listener of a turn that is still to stop. */
  private readonly released = new Map<Ids.ConversationId, (() => void) | undefined>()
  private readonly restartDelays = new RestartDelays()
  private isClosed = false
  /** The fiber that runs the turns of a session; `undefined` while it starts, and while the driver runs them. */
  private readonly working = new Map<Session, Fiber.Fiber<void> | undefined>()

  constructor(services: TurnServices.TurnServices, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.services = services
    this.sessions = services.sessions
    this.fork = fork
    this.driver = Driver.make(
      services,
      {
        handOver: (session, _turn, handover) => this.runInFiber(session, handover),
        parked: (session, turn, leaving) => this.parkedByDriver(session, turn, leaving),
        sealed: (session, turn, end) => {
          this.report(turn, Exit.succeed(end))
          if (!this.isReleased(session)) this.leftByDriver(session)
        },
        stopped: (session, turn, error) => this.stoppedByDriver(session, turn, error)
      },
      fork
    )
    this.waking = new Waking(services, (session) => this.begin(session))
    this.parking = this.waking.parking
  }

  /** Stops all turns that have no fiber; the fibers end with their scope. */
  close(): void {
    this.isClosed = true
    this.waking.close()
    this.driver.stop(TurnRunner.shuttingDown)
  }

  add(session: Session, turnId: Ids.TurnId, known?: TurnLife.Known): Effect.Effect<void> {
    return Effect.sync(() => {
      session.add(turnId, { _tag: "Queued", ...known }, "last")
      this.begin(session)
    })
  }

  hasten(session: Session): void {
    this.begin(session)
  }

  release(id: Ids.ConversationId): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.released.set(id, undefined)
      const parked = this.parking.drop(id)
      if (parked !== undefined) this.seals.report(parked.turnId, Exit.fail(TurnRunner.shuttingDown))
      const session = this.sessions.find(id)
      if (session === undefined) return Effect.void
      this.driver.stop(TurnRunner.shuttingDown, session)
      const fiber = this.working.get(session)
      // While the driver reads the turn it has no fiber yet; it stops when it gets one.
      return fiber === undefined && this.working.has(session)
        ? Effect.callback<void>((resume) => void this.released.set(id, () => resume(Effect.void)))
        : Effect.map(fiber === undefined ? Effect.void : Fiber.interrupt(fiber), () => this.leave(session))
    })
  }

  giveUp(isMeant: (id: Ids.ConversationId) => boolean): Effect.Effect<ReadonlyArray<Ids.ConversationId>> {
    return Effect.gen({ self: this }, function* () {
      yield* InterruptedTurns.recordOrderlyStop(this.services, isMeant)
      const inMemory = Array.from(this.sessions, ({ conversationId }) => conversationId)
      const ids = Array.from(new Set([...this.parking.conversations, ...inMemory]).values().filter(isMeant))
      const released = Effect.forEach(ids, (id) => this.release(id), { concurrency: "unbounded", discard: true })
      // A tool that does not end is left behind.
      yield* Effect.timeoutOption(Effect.interruptible(released), STOP_LIMIT)
      for (const id of ids) {
        this.readmit(id)
        const session = this.sessions.find(id)
        session?.forget()
        session?.hub.restarted()
        session?.hub.ended(TurnRunner.shuttingDown)
      }
      return ids
    })
  }

  readmit(id: Ids.ConversationId): void {
    this.released.delete(id)
  }

  /** Takes a conversation that was released out of memory. */
  private isReleased(session: Session): boolean {
    const { conversationId } = session
    if (!this.released.has(conversationId)) return false
    this.leave(session)
    this.released.get(conversationId)?.()
    return true
  }

  private leave(session: Session): void {
    session.ahead?.move(TurnLife.park)
    for (const turn of session.turns.slice()) this.reportStop(session, turn, TurnRunner.shuttingDown)
    this.working.delete(session)
    this.sessions.release(session)
  }

  sealOf(turnId: Ids.TurnId): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> {
    return this.seals.await(turnId)
  }

  sealHere(
    turn: Pick<Turn, "conversationId" | "turnId">
  ): Effect.Effect<TurnEvent.TurnEnd | undefined, TurnStopped.TurnStopped> {
    return this.seals.awaitHere(turn.turnId, () => this.has(turn))
  }

  has({ conversationId, turnId }: Pick<Turn, "conversationId" | "turnId">): boolean {
    const isParked = this.parking.find(conversationId)?.turnId === turnId
    return isParked || this.sessions.find(conversationId)?.has(turnId) === true
  }

  // --- which turn runs

  /** The turn that runs next: the first one, or, while that is parked, itself ahead of its time. */
  private nextOf({ ahead, conversationId, head }: Session): TurnLife.TurnLife | undefined {
    return ahead ?? (this.parking.find(conversationId) === undefined ? head : undefined)
  }

  private begin(session: Session): void {
    const turn = this.nextOf(session)
    const { conversationId } = session
    if (this.working.has(session) || turn === undefined || this.released.has(conversationId)) return
    if (!this.services.ownership.isOurs(conversationId)) return
    this.working.set(session, undefined)
    if (!this.driver.take(session, turn)) this.runInFiber(session, undefined)
  }

  private runInFiber(session: Session, handover: Handover.Handover | undefined): void {
    if (this.isReleased(session)) return
    this.working.set(session, undefined)
    const fiber = this.fork(this.runAll(session, handover))
    if (this.working.has(session)) this.working.set(session, fiber)
  }

  /** Runs the turns of a session one after the other, until none is left or the driver takes one. */
  private runAll(session: Session, handover: Handover.Handover | undefined): Effect.Effect<void> {
    return Effect.onInterrupt(this.runEach(session, handover), () => Effect.sync(() => this.interrupted(session)))
  }

  // A generator function that is made for each turn would keep a prototype for each turn.
  private readonly runEach = Effect.fnUntraced(function* (
    this: Queue,
    session: Session,
    handover: Handover.Handover | undefined
  ) {
    let turn = this.nextOf(session)
    let handed = handover
    while (turn !== undefined) {
      turn = (yield* this.runOne(session, turn, handed)) ? this.nextOf(session) : undefined
      handed = undefined
      if (turn !== undefined && this.driver.take(session, turn)) return
    }
    this.working.delete(session)
    this.sessions.release(session)
  })

  /** Runs a turn until it is sealed, stops or leaves memory; returns whether the session's next turn may run. */
  private readonly runOne = Effect.fnUntraced(function* (
    this: Queue,
    session: Session,
    turn: TurnLife.TurnLife,
    handover: Handover.Handover | undefined
  ): Effect.fn.Return<boolean> {
    turn.move(TurnLife.begin)
    let outcome = yield* Effect.matchCause(FiberTurn.run(this.services, session, turn, handover), {
      onSuccess: identity,
      onFailure: errorOf
    })
    // From here on nothing yields until the outcome is reported: a turn that does not run has no unreported outcome.
    const { _tag, awaited } = turn.state
    turn.move(TurnLife.stop)
    if (_tag === "Ahead") {
      if ("_tag" in outcome) return turn.move(TurnLife.park) // TurnQueue.Q6
      this.parking.drop(session.conversationId)
    }
    if ("_tag" in outcome && outcome._tag === "TurnParked") {
      this.park(session, turn, { retryAt: outcome.retryAt, awaited })
      return true
    }
    if ("_tag" in outcome) {
      if (yield* this.services.isStopping) {
        this.reportStop(session, turn, outcome)
        return false
      }
      const end: TurnEvent.TurnEnd | undefined = yield* this.recover(session, turn, outcome)
      if (end === undefined) return true
      outcome = end
    }
    this.report(turn, Exit.succeed(outcome))
    return !(yield* this.services.isStopping)
  })

  /** Seals a turn that has stopped unsealed, or has it run again (TurnQueue.Q4); returns its seal. */
  private recover(
    session: Session,
    turn: TurnLife.TurnLife,
    error: TurnStopped.TurnStopped
  ): Effect.Effect<TurnEvent.TurnEnd | undefined> {
    return Effect.gen({ self: this }, function* () {
      const { turnId } = turn
      if (error.defect === true) {
        const outcome = yield* Effect.exit(InterruptedTurns.ofDefect(this.services, session, turn, error))
        if (Exit.isSuccess(outcome)) return outcome.value
        yield* Effect.logError(`Turn ${turnId} could not be sealed: ${errorOf(outcome.cause).message}`)
      }
      yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
      const { interruption } = turn.state
      this.reportStop(session, turn, error)
      const { abort } = session.add(turnId, { _tag: "Stopped", interruption }, "first")
      const delayMs = this.restartDelays.stopped(session.conversationId, yield* Clock.currentTimeMillis)
      yield* InterruptedTurns.pause(abort, delayMs)
      return undefined
    })
  }

  private interrupted(session: Session): void {
    const { ahead, head } = session
    if (ahead !== undefined) ahead.move(TurnLife.park) // TurnQueue.Q6
    else if (head !== undefined && head.state._tag !== "Queued") this.reportStop(session, head, TurnRunner.shuttingDown)
    this.working.delete(session)
    // It stopped so late that its turns have been taken up again.
    if (!this.isClosed) this.begin(session)
  }

  // --- how a turn leaves

  /** A turn leaves memory until its time, unless it is wanted (TurnQueue.Q5). */
  private park(session: Session, turn: TurnLife.TurnLife, { awaited, retryAt }: Leaving): void {
    if (turn.isWanted || !turn.move(TurnLife.park)) return
    this.parking.park(session.conversationId, turn.turnId, retryAt, awaited)
  }

  private parkedByDriver(session: Session, turn: TurnLife.TurnLife, leaving: Leaving | undefined): void {
    if (this.isReleased(session)) return
    if (leaving === undefined && turn.state._tag === "Ahead") turn.move(TurnLife.park) // TurnQueue.Q6
    else {
      turn.move(TurnLife.stop)
      if (leaving !== undefined) this.park(session, turn, leaving)
    }
    this.leftByDriver(session)
  }

  private leftByDriver(session: Session): void {
    this.working.delete(session)
    if (this.nextOf(session) === undefined) this.sessions.release(session)
    else this.begin(session)
  }

  private stoppedByDriver(session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped): void {
    if (this.isReleased(session)) return
    if (turn.state._tag === "Ahead") turn.move(TurnLife.park) // TurnQueue.Q6
    else this.reportStop(session, turn, error)
  }

  private report(turn: TurnLife.TurnLife, outcome: Outcome): void {
    turn.end(outcome)
    this.seals.report(turn.turnId, outcome)
  }

  private reportStop(session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped): void {
    session.hub.stopped(turn.turnId, error)
    this.report(turn, Exit.fail(error))
  }
}

/** TurnQueue.Q4 */
const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))
