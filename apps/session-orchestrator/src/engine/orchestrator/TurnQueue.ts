/**
 * Runs accepted turns: one at a time per conversation, in order.
 *
 * A parked turn that is wanted is reached through its session from that moment on, by handles that stay the same. No command or abort is
 * lost while it leaves memory, or while it is read from the disk; they are taken in their order.
 *
 * TurnQueue.Q1. No turn passes an unsealed turn before it: while that is parked (`Parking`), the others stay queued. A turn that stops
 *     unsealed is run again from its records. After a defect of the service that happens twice, and then it is sealed as failed (rule C10).
 *     After another process has written, it happens at growing intervals (`RestartDelays`), and its callers get the error. An abort ends
 *     the turn at any of these moments.
 * TurnQueue.Q3. A released turn stops unsealed, wherever it is, and does not run until it is readmitted.
 * TurnQueue.Q4. A queued turn that is aborted is sealed beside the turn that runs, before its place comes up.
 */
import { Observer, type TurnStopped } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Effect, Exit, Fiber, FiberSet } from "effect"
import type { Leaving } from "../driver/DrivenTurn.ts"
import * as Driver from "../driver/Driver.ts"
import * as Entrance from "../driver/Entrance.ts"
import type { Parking } from "../parking/Parking.ts"
import { Waking } from "../parking/Waking.ts"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import type { Session, Sessions } from "../session/Session.ts"
import { type Outcome, Seals } from "../session/Seals.ts"
import type * as TurnLife from "../session/TurnLife.ts"
import type { Resumption, Turn } from "../../storage/Stored.ts"
import * as TurnServices from "../turn/TurnServices.ts"

/** How a draft has left. */
export type Drafted =
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }
  /** It goes on from its records, once it is accepted. */
  | {
      readonly _tag: "Failed"
      readonly turn: Resumption["turn"]
      readonly records: ReadonlyArray<Engine.Named>
      /** Reports to the listeners of turns what it did, as a turn of its conversation. */
      readonly report: (id: Ids.ConversationId) => void
      /** It is not accepted: the limits of spending forget it. */
      readonly drop: () => void
    }

/** The accepted turns of this process. */
export class TurnQueue implements Driver.Exits {
  /** The turns that wait on disk alone. */
  readonly parking: Parking
  /** The outcomes of turns from now on. */
  readonly seals: Seals = new Seals()
  private readonly services: TurnServices.TurnServices
  private readonly sessions: Sessions
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  private readonly driver: Driver.Driver
  private readonly waking: Waking
  /** Conversations whose turns do not run (TurnQueue.Q3). */
  private readonly released = new Set<Ids.ConversationId>()
  private readonly restartDelays = new InterruptedTurns.RestartDelays()
  private isClosed = false
  /** The sessions with a turn that runs; with the fiber that recovers it, if it has stopped. */
  private readonly working = new Map<Session, Fiber.Fiber<void> | undefined>()
  /** The turns that are sealed while they are queued (TurnQueue.Q4). */
  private readonly ending = new Map<TurnLife.TurnLife, Fiber.Fiber<void> | undefined>()

  constructor(services: TurnServices.TurnServices, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.services = services
    this.sessions = services.sessions
    this.fork = fork
    this.driver = new Driver.Driver(services, this, fork)
    this.waking = new Waking(services, (session) => this.begin(session))
    this.parking = this.waking.parking
  }

  /** Stops all turns. */
  close(): void {
    this.waking.close()
    this.isClosed = true
    this.driver.stop(TurnServices.shuttingDown)
  }

  /** Queues an accepted turn behind the others of its conversation. `false`: that has another owner by now, and the turn would stay at its head here. */
  add(session: Session, turnId: Ids.TurnId, known?: TurnLife.Known): Effect.Effect<boolean> {
    return Effect.sync(() => {
      if (!this.services.ownership.isOurs(session.conversationId)) return false
      const turn = session.add(turnId, "queued", "last", known)
      if (known?.interruption !== undefined) this.waking.resume(session, turn)
      else if (session.head === turn) this.begin(session)
      return true
    })
  }

  /** Runs a turn that is not on disk, in a session of its own. Interruption aborts it. `sealed` is called when it ends as a draft. */
  draft(
    session: Session,
    resumption: Resumption,
    sealed: (sealed: Observer.Sealed) => void
  ): Effect.Effect<Drafted, TurnStopped.TurnStopped> {
    return Effect.callback((resume) => {
      const { turn } = resumption
      const { spending, telemetry } = this.services
      const reports: Array<(id: Ids.ConversationId) => void> = []
      const observer: Observer.Listeners = {
        attempt: (ended) => {
          Observer.notify(spending?.listeners, "attempt", ended)
          reports.push((conversationId) => Observer.notify(telemetry, "attempt", { ...ended, conversationId }))
        },
        decision: (decided) => {
          reports.push((conversationId) => Observer.notify(telemetry, "decision", { ...decided, conversationId }))
        },
        seal: (seal) => {
          Observer.notify(spending?.listeners, "seal", seal)
          sealed(seal)
        }
      }
      // What was reported is not kept as long as the turn waits.
      const report = (id: Ids.ConversationId) => reports.splice(0).forEach((each) => each(id))
      const records: Array<Engine.Named> = []
      const drop = () => spending?.left(turn.turnId)
      const failed = () => resume(Effect.as(forget, { _tag: "Failed", turn, records, report, drop }))
      const forget = this.seals.add(turn.turnId, (outcome) =>
        resume(Exit.map(outcome, (end) => ({ _tag: "Sealed", end })))
      )
      const known = { arrival: { resumption }, draft: { observer, records, failed } }
      const life = session.add(turn.turnId, "queued", "last", known)
      this.begin(session)
      return Effect.andThen(
        forget,
        Effect.sync(() => life.abortNow())
      )
    })
  }

  /**
   * Ends a turn that is queued behind another one, without a place in its order: it is sealed on disk when this succeeds. `undefined`: it is not
   * queued here, or is the next to run.
   */
  abortQueued(id: Ids.ConversationId, turnId: Ids.TurnId): Effect.Effect<boolean, TurnStopped.TurnStopped> | undefined {
    const session = this.sessions.find(id)
    const turn = session?.turns.find((turn) => turn.turnId === turnId)
    if (session === undefined || turn?.residence !== "queued" || turn === this.nextOf(session)) return undefined
    if (!this.ending.has(turn)) {
      this.ending.set(turn, undefined)
      const fiber = this.fork(this.endQueued(session, turn))
      if (this.ending.has(turn)) this.ending.set(turn, fiber)
    }
    return Effect.as(Deferred.await(turn.ended), true)
  }

  /** Stops the turn of a conversation unsealed, and takes it out of memory (TurnQueue.Q3). */
  release(id: Ids.ConversationId): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.released.add(id)
      const parked = this.parking.drop(id)
      if (parked !== undefined) this.seals.report(parked.turnId, Exit.fail(TurnServices.shuttingDown))
      const session = this.sessions.find(id)
      if (session === undefined) return Effect.void
      const recovering = this.working.get(session)
      const ended = recovering === undefined ? this.driver.release(session) : Fiber.interrupt(recovering)
      const endings = Fiber.interruptAll(session.turns.flatMap((turn) => this.ending.get(turn) ?? []))
      return Effect.map(Effect.all([ended, endings], { concurrency: "unbounded" }), () => this.takeOut(session))
    })
  }

  /**
   * Does that with all conversations that another process has from now on, and ends their streams and the calls that wait for their turns.
   * Returns those that were in memory or parked.
   */
  giveUp(isMeant: (id: Ids.ConversationId) => boolean): Effect.Effect<ReadonlyArray<Ids.ConversationId>> {
    return Effect.gen({ self: this }, function* () {
      yield* InterruptedTurns.recordOrderlyStop(this.services, isMeant)
      const inMemory = Array.from(this.sessions, ({ conversationId }) => conversationId)
      const ids = Array.from(new Set([...this.parking.conversations, ...inMemory]).values().filter(isMeant))
      const released = Effect.forEach(ids, (id) => this.release(id), { concurrency: "unbounded", discard: true })
      // What does not end is left behind.
      yield* Effect.timeoutOption(Effect.interruptible(released), STOP_LIMIT)
      for (const id of ids) {
        this.readmit(id)
        const session = this.sessions.find(id)
        if (session === undefined) continue
        this.takeOut(session)
        session.forget()
        session.hub.restarted()
        session.hub.ended(TurnServices.shuttingDown)
      }
      return ids
    })
  }

  /** Begins no answer from now on; returns whether those that have begun are over (`Condition`). */
  settle(): boolean {
    return this.driver.settle() && !Array.from(this.sessions).some(({ hub }) => hub.inProgress.isAnswering)
  }

  /** Lets turns of the conversation run again. */
  readmit(id: Ids.ConversationId): void {
    this.released.delete(id)
  }

  /** Takes a conversation that was released out of memory. */
  private takeOut(session: Session): void {
    session.ahead?.park()
    for (const turn of session.turns.slice()) {
      this.ending.delete(turn)
      this.reportStop(session, turn, TurnServices.shuttingDown)
    }
    this.working.delete(session)
    this.sessions.release(session)
  }

  /** Whether a turn runs here, waits for those before it, or is parked. */
  has({ conversationId, turnId }: Pick<Turn, "conversationId" | "turnId">): boolean {
    const isParked = this.parking.find(conversationId)?.turnId === turnId
    return isParked || this.sessions.find(conversationId)?.has(turnId) === true
  }

  // --- which turn runs

  /** The turn that runs next: the first one, or, while that is parked, itself ahead of its time. */
  private nextOf({ ahead, conversationId, head }: Session): TurnLife.TurnLife | undefined {
    return ahead ?? (this.parking.find(conversationId) === undefined ? head : undefined)
  }

  /** Runs the turns of a session now, instead of when the first gets its place: a command has arrived. */
  begin(session: Session): void {
    const turn = this.nextOf(session)
    const { conversationId } = session
    if (this.working.has(session) || turn === undefined || this.released.has(conversationId)) return
    if (this.ending.has(turn)) return
    if (!this.services.ownership.isOurs(conversationId)) return
    this.working.set(session, undefined)
    this.driver.take(session, turn)
  }

  /** The turn that ran has left: the next one runs. */
  private next(session: Session): void {
    this.working.delete(session)
    if (this.nextOf(session) === undefined) this.sessions.release(session)
    else if (!this.services.isStopping()) this.begin(session)
  }

  // --- how a turn leaves

  parked(session: Session, turn: TurnLife.TurnLife, leaving: Leaving | undefined): void {
    // A turn that is in memory ahead of its time, and stops there, is still parked.
    if (turn.park() && leaving !== undefined)
      this.parking.park(session.conversationId, turn.turnId, leaving.retryAt, leaving.awaited)
    this.next(session)
  }

  sealed(session: Session, turn: TurnLife.TurnLife, end: TurnEvent.TurnEnd): void {
    if (turn.residence === "parked") this.parking.drop(session.conversationId)
    this.report(turn, Exit.succeed(end))
    this.next(session)
  }

  stopped(session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped): void {
    if (turn.residence === "parked") {
      turn.park()
      return this.next(session)
    }
    turn.stop()
    turn.wait.failTaken(error)
    if (this.isClosed || this.services.isStopping() || turn.draft !== undefined) {
      this.reportStop(session, turn, error)
      return this.next(session)
    }
    const recovered = Effect.matchCause(this.recover(session, turn, error), {
      onSuccess: (end) => (end === undefined ? this.next(session) : this.sealed(session, turn, end)),
      onFailure: () => {
        const { head } = session
        if (head !== undefined) this.reportStop(session, head, TurnServices.shuttingDown)
      }
    })
    const fiber = this.fork(recovered)
    if (fiber.pollUnsafe() === undefined) this.working.set(session, fiber)
  }

  /** Seals a turn that has stopped unsealed, or has it run again (TurnQueue.Q1); returns its seal. */
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
        yield* Effect.logError(`Turn ${turnId} could not be sealed: ${Entrance.errorOf(outcome.cause).message}`)
      }
      yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
      const { interruption } = turn
      this.reportStop(session, turn, error)
      const { abort } = session.add(turnId, "live", "first", { interruption })
      const delayMs = this.restartDelays.stopped(session.conversationId, yield* Clock.currentTimeMillis)
      yield* InterruptedTurns.pause(abort, delayMs)
      return undefined
    })
  }

  /** TurnQueue.Q4 */
  private endQueued(session: Session, turn: TurnLife.TurnLife): Effect.Effect<void> {
    const sealed = InterruptedTurns.sealQueued(this.services, session, turn.turnId)
    return Effect.map(Effect.exit(sealed), (outcome) => {
      this.ending.delete(turn)
      this.report(turn, Exit.isSuccess(outcome) ? outcome : Exit.fail(Entrance.errorOf(outcome.cause)))
      if (!this.working.has(session)) this.next(session)
    })
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

/** A queue whose turns stop, unsealed, with the scope. */
export const make = Effect.fnUntraced(function* (services: TurnServices.TurnServices) {
  const { sessions } = services
  // Runs after the fibers have ended: a runner continues without this conversation, so gates must get their tickets back (Gatekeeper.K1).
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const { turns } of sessions) for (const turn of turns.slice()) turn.end(Exit.fail(TurnServices.shuttingDown))
    })
  )
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const queue = new TurnQueue(services, fork)
  yield* Effect.addFinalizer(() => Effect.sync(() => queue.close()))
  // Finalizers run in reverse order, so this one runs first: the turns still run.
  yield* Effect.addFinalizer(() => InterruptedTurns.recordOrderlyStop(services))
  return queue
})

// --- internal

/** How long turns may take to stop, before another process runs them. */
const STOP_LIMIT = "5 seconds"
