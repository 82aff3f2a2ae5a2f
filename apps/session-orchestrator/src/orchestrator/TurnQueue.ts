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
 * TurnQueue.Q9. A turn of a conversation that runs no other may begin before it is accepted (`Early`).
 */
import { JournalCheckpoint } from "@holdfast/journal"
import { Observer, Records, TurnStopped } from "@holdfast/kernel"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, FiberSet, identity, Option } from "effect"
import * as Driver from "../driver/Driver.ts"
import type * as Handover from "../turn/Handover.ts"
import type { Resumption, Turn } from "../storage/Store.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import * as Tokenizer from "../tokens/Tokenizer.ts"
import { RestartDelays } from "../recovery/RestartDelays.ts"
import { Early } from "../session/Early.ts"
import type { Awaited } from "../gate/Gatekeeper.ts"
import type { Parking } from "../parking/Parking.ts"
import * as MissingTools from "../turn/MissingTools.ts"
import { Seals } from "../session/Seals.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import * as TurnLife from "../session/TurnLife.ts"
import * as TurnPorts from "../turn/TurnPorts.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import * as TurnServices from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import { Waking } from "../parking/Waking.ts"

/** The accepted turns of this process. */
export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turnId: Ids.TurnId, known?: TurnLife.Known) => Effect.Effect<void>
  /** Prepares a turn before its acceptance, if no other turn stands before it (TurnQueue.Q9). */
  readonly anticipate: (session: Session, resumption: Resumption) => Anticipated
  /** Runs the turns of a session now, instead of when the turnstile admits the first: a command has arrived. */
  readonly hasten: (session: Session) => void
  /** The outcome of a turn from now on: its seal, or the error of its stop. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  /** Whether a turn runs here, waits for those before it, or is parked. */
  readonly has: (turn: Pick<Turn, "conversationId" | "turnId">) => boolean
  /** The turns that wait on disk alone. */
  readonly parking: Parking
}

/** A turn that may begin before it is accepted. */
interface Anticipated {
  readonly begin: () => void
  /** The turn is accepted, and its opening events have left. Returns whether it is running. */
  readonly accept: () => boolean
  /** The turn is not accepted: it ends, and its call with it, and nothing is reported of it. */
  readonly refuse: Effect.Effect<void>
}

/** A queue whose turns stop, unsealed, with the scope. `down` is done when the service shuts down. */
export const make = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const services = yield* TurnServices.collect(sessions, down)
  const { isStopping } = services
  // Runs after the fibers have ended: a runner continues without this conversation, so gates must get their tickets back (Gatekeeper.K3).
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const { turns } of sessions) for (const turn of turns.slice()) turn.end(Exit.fail(TurnRunner.goingDown))
    })
  )
  const fork = yield* FiberSet.makeRuntime<never>()
  const seals = new Seals()
  const restartDelays = new RestartDelays()
  /** The fiber that runs the turns of a session; `undefined` while it starts. */
  const working = new Map<Session, Fiber.Fiber<void> | undefined>()

  /** The turn that runs next: the first one, or, while that is parked, itself ahead of its time. */
  const nextOf = ({ ahead, conversationId, early, head }: Session): TurnLife.TurnLife | undefined =>
    ahead ?? early ?? (parking.find(conversationId) === undefined ? head : undefined)

  const begin = (session: Session): void => {
    const turn = nextOf(session)
    if (working.has(session) || turn === undefined) return
    working.set(session, undefined)
    if (!driver.take(session, turn)) goOnInFiber(session, undefined)
  }

  const goOnInFiber = (session: Session, handover: Handover.Handover | undefined): void => {
    working.set(session, undefined)
    const fiber = fork(work(session, handover))
    if (working.has(session)) working.set(session, fiber)
  }

  /** A turn of a session has ended or left: the next one is run. */
  const goesOn = (session: Session): void => {
    working.delete(session)
    if (nextOf(session) === undefined) sessions.release(session)
    else begin(session)
  }

  /** A turn leaves memory until its time, unless it is wanted (TurnQueue.Q5). */
  const leaves = (session: Session, turn: TurnLife.TurnLife, { awaited, retryAt }: Leaving): void => {
    if (!turn.isWanted && turn.move(TurnLife.park)) parking.park(session.conversationId, turn.turnId, retryAt, awaited)
  }

  const ended = (turn: TurnLife.TurnLife, outcome: Exit.Exit<TurnEvent.TurnEnd, TurnStopped.TurnStopped>): void => {
    turn.end(outcome)
    seals.report(turn.turnId, outcome)
  }

  const stopped = (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped): void => {
    session.hub.stopped(turn.turnId, error)
    ended(turn, Exit.fail(error))
  }

  /** Seals a turn that has stopped unsealed, or has it run again (TurnQueue.Q4); returns its seal. */
  const goOn = Effect.fnUntraced(function* (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped) {
    const { turnId } = turn
    if (error.defect === true) {
      const outcome = yield* Effect.exit(InterruptedTurns.ofDefect(services, session, turn, error))
      if (Exit.isSuccess(outcome)) return outcome.value
      yield* Effect.logError(`Turn ${turnId} could not be sealed: ${errorOf(outcome.cause).message}`)
    }
    yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
    const { interruption } = turn.state
    stopped(session, turn, error)
    const { abort } = session.add(turnId, { _tag: "Stopped", interruption }, "first")
    yield* InterruptedTurns.pause(abort, restartDelays.stopped(session.conversationId, yield* Clock.currentTimeMillis))
    return undefined
  })

  /** Runs a turn until it is sealed, stops or leaves memory; returns whether the session's next turn may run. */
  const live = Effect.fnUntraced(function* (
    session: Session,
    turn: TurnLife.TurnLife,
    handover: Handover.Handover | undefined
  ) {
    const early = handover?.early ?? turn.state.arrival?.early
    turn.move(TurnLife.begin)
    let outcome = yield* Effect.matchCause(run(services, session, turn, handover), {
      onSuccess: identity,
      onFailure: errorOf
    })
    if (early !== undefined && !(yield* early.isAccepted)) return false
    // From here on nothing yields until the outcome is reported: a turn that does not run has no unreported outcome.
    const { _tag, awaited } = turn.state
    turn.move(TurnLife.stop)
    if (_tag === "Ahead") {
      if ("_tag" in outcome) return turn.move(TurnLife.park) // TurnQueue.Q6
      parking.drop(session.conversationId)
    }
    if ("_tag" in outcome && outcome._tag === "TurnParked") {
      leaves(session, turn, { retryAt: outcome.retryAt, awaited })
      return true
    }
    if ("_tag" in outcome) {
      if (yield* isStopping) {
        stopped(session, turn, outcome)
        return false
      }
      const end: TurnEvent.TurnEnd | undefined = yield* goOn(session, turn, outcome)
      if (end === undefined) return true
      outcome = end
    }
    ended(turn, Exit.succeed(outcome))
    return !(yield* isStopping)
  })

  const work = Effect.fnUntraced(
    function* (session: Session, handover: Handover.Handover | undefined) {
      let turn = nextOf(session)
      let handed = handover
      while (turn !== undefined) {
        turn = (yield* live(session, turn, handed)) ? nextOf(session) : undefined
        handed = undefined
        if (turn !== undefined && driver.take(session, turn)) return
      }
      working.delete(session)
      sessions.release(session)
    },
    (work, session, _handover) =>
      Effect.onInterrupt(work, () =>
        Effect.sync(() => {
          const { ahead, early, head } = session
          if (early !== undefined) early.move(TurnLife.end)
          else if (ahead !== undefined) ahead.move(TurnLife.park) // TurnQueue.Q6
          else if (head !== undefined && head.state._tag !== "Queued") stopped(session, head, TurnRunner.goingDown)
        })
      )
  )

  const driver = yield* Driver.make(
    services,
    {
      handOver: (session, _turn, handover) => goOnInFiber(session, handover),
      parked: (session, turn, leaving) => {
        if (leaving === undefined && turn.state._tag === "Ahead") turn.move(TurnLife.park) // TurnQueue.Q6
        else {
          turn.move(TurnLife.stop)
          if (leaving !== undefined) leaves(session, turn, leaving)
        }
        goesOn(session)
      },
      stopped: (session, turn, error) => {
        if (session.early === turn) turn.move(TurnLife.end)
        else if (turn.state._tag === "Ahead") turn.move(TurnLife.park) // TurnQueue.Q6
        else stopped(session, turn, error)
      }
    },
    fork
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => driver.stop(TurnRunner.goingDown)))
  const waking = new Waking(services, begin)
  const { parking } = waking

  yield* Effect.addFinalizer(() => Effect.sync(() => waking.close()))
  // Finalizers run in reverse order, so this one runs first: the turns still run.
  yield* Effect.addFinalizer(() => InterruptedTurns.inGoodOrder(services))

  const queue: TurnQueue = {
    parking,
    add: (session, turnId, known) =>
      Effect.sync(() => {
        session.add(turnId, { _tag: "Queued", ...known }, "last")
        begin(session)
      }),
    anticipate: (session, resumption) => {
      const early = new Early()
      let turn: TurnLife.TurnLife | undefined
      return {
        begin: () => {
          turn = session.anticipate(resumption.turn.turnId, { _tag: "Queued", arrival: { resumption, early } })
          begin(session)
        },
        accept: () => {
          if (turn === undefined || session.early !== turn) return false
          session.accept()
          early.accept()
          return true
        },
        refuse: Effect.suspend(() => {
          if (turn === undefined) return Effect.void
          early.refuse()
          driver.drop(turn)
          const fiber = working.get(session)
          return Effect.map(fiber === undefined ? Effect.void : Fiber.interrupt(fiber), () => {
            turn?.move(TurnLife.end)
            working.delete(session)
          })
        })
      }
    },
    hasten: begin,
    sealOf: (turnId) => seals.await(turnId),
    has: ({ conversationId, turnId }) =>
      parking.find(conversationId)?.turnId === turnId || sessions.find(conversationId)?.has(turnId) === true
  }
  return queue
})

// --- internal

/** A turn that leaves memory, by its gate. */
interface Leaving {
  /** Epoch milliseconds. */
  readonly retryAt: number
  readonly awaited: Awaited | undefined
}

/** Writes the records that the disk refused before (TurnQueue.Q4). */
const written = (
  { journal }: TurnServices.TurnServices,
  refused: Handover.Refused | undefined,
  patiently: JournalCheckpoint.Persist
): Effect.Effect<void, TurnStopped.TurnStopped> => {
  if (refused === undefined) return Effect.void
  const { append, outcome } = refused
  let isFirst = true
  return patiently(
    Effect.suspend(() => {
      if (!isFirst && append !== undefined) return journal.append(append.turnId, append.seq, ...append.records)
      isFirst = false
      return outcome
    })
  )
}

/** Answers a command when its record is written, and ends the turn's replay at its first new work. */
const listenerOf = (turn: TurnLife.TurnLife): JournalCheckpoint.Listener => ({
  // Before the wait is announced: a client may send a command as soon as it sees the announcement.
  begins: (name) => turn.begins(Records.placeOf(name)?.kind === "Wake"),
  recorded: (record) => {
    InterruptedTurns.recorded(turn, record)
    const wake = Records.valueOf("Wake", record)
    if (wake === undefined) return
    turn.wait.recordedEnd(wake)
    if (wake.type === "asked") turn.move(TurnLife.without("ticket")) // it calls when a person has answered
  }
})

/** TurnQueue.Q4 */
const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))

const run = Effect.fnUntraced(function* (
  services: TurnServices.TurnServices,
  session: Session,
  turn: TurnLife.TurnLife,
  handover: Handover.Handover | undefined
) {
  const { providers, defaults, gates, journal, observer, standings, store, timer, tools } = services
  const { turnId } = turn
  const { arrival } = turn.state
  const early = handover?.early ?? arrival?.early
  const patiently = early === undefined ? services.patiently(turnId) : early.persisting(services.patiently(turnId))
  const emitting = <Event>(emit: (event: Event) => void) => (early === undefined ? emit : early.emitting(emit))
  if (handover?.isEntered === true) yield* written(services, handover.refused, patiently)
  else {
    const sealed = yield* InterruptedTurns.enter(services, session, turn)
    if (sealed !== undefined) return sealed
  }
  const resumption =
    handover?.resumption ?? arrival?.resumption ?? Option.getOrThrow(yield* patiently(store.resumption(turnId)))
  const { conversation } = resumption
  const known =
    arrival === undefined && handover === undefined
      ? yield* patiently(journal.load(turnId))
      : // If a new turn has records all the same, its first record collides with them (`Journal.J2`).
        (handover?.known ?? [])
  const options = { persist: patiently, listener: listenerOf(turn) }
  const journaled = JournalCheckpoint.joined(journal, turnId, known, options)
  turn.wait.know(JournalCheckpoint.commandIdsOf(known))
  const { isEnabled, policy, provider, target } = TurnSetting.of(services, session, turn, conversation)
  const { history } = resumption
  turn.state.slot?.weigh(ContextSize.charactersOf(history))
  const { credentials } = providers
  const ports = yield* TurnPorts.make(
    { standings, tokenizer: Tokenizer.load, credentials, models: defaults.models },
    { policy, provider, history, isEnabled, patiently }
  )
  const toolbox = yield* tools.toolbox
  const settled = MissingTools.settle(tools, {
    conversationId: conversation.conversationId,
    turnId,
    isFirstLife: !known.some(({ name }) => name === Records.nameOf("Attempt", 0)),
    live: emitting((event) => session.hub.live(event)),
    makeRoom: () => {
      turn.move(TurnLife.without("place"))
      turn.state.slot?.ready()
    },
    abort: Deferred.await(turn.abort)
  })
  // A call in progress has the tools that were available when it was made.
  const failure = handover?.call === undefined ? yield* settled : undefined
  const running = TurnRunner.run({
    handover,
    session,
    life: turn,
    resumption,
    target,
    gates,
    policy,
    ports,
    isEnabled,
    store,
    provider: failure === undefined ? provider : MissingTools.failing(failure),
    emitting,
    journaled,
    toolbox,
    sleepUntil: timer.sleepUntil
  })
  return yield* early === undefined || observer === undefined
    ? running
    : Effect.provideService(running, Observer.Observer, early.observing(observer))
})
