/**
 * Runs accepted turns: one at a time per conversation, in order, on fibers of the service.
 *
 * Q1. A conversation has a fiber while it has turns to run, and no longer. While its first turn is parked (`Parking`) the others stay queued.
 * Q3. A turn that cannot be run as it stands, because its model or its settings are gone from the configuration, is sealed
 *     as failed and says so; it does not block those behind it.
 * Q4. No turn passes one before it that is not sealed. A turn that stops unsealed is run again from its records: after a defect of the
 *     service twice, and then it is sealed as failed (C10); when another process has written, in growing distances (`Comebacks`), and
 *     those who wait for it are told. An abort ends it at any of these moments.
 * Q5. A parked turn that is wanted is reached through its session from that moment on, by handles that stay the same. No command or abort
 *     is lost while it leaves memory, or while it is read from the disk; they are taken in their order.
 * Q6. A turn that is in memory ahead of its time and stops there is parked still: nothing is reported of it.
 * Q7. Callers that wait for a command to be on record, or for a seal, get the error of a turn that has stopped instead.
 * Q8. A turn that may take the process down runs alone (`Quarantine`), and one that did so again is sealed without being run (X14). What
 *     stops with the service in good order is on record, so that it counts for no death.
 */
import { type Provider, Records, ResponseLimit, TurnStopped } from "@holdfast/kernel"
import { Profile, RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Clock, Deferred, Effect, Exit, FiberSet, identity, Option, Result, Stream } from "effect"
import * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import { Life } from "../durable/Life.ts"
import { Timer } from "../durable/Timer.ts"
import { Interruptions } from "../storage/Interruptions.ts"
import { Journal } from "../storage/Journal.ts"
import { Standings } from "../storage/Standings.ts"
import { type Conversation, Store, type Turn } from "../storage/Store.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import * as Tokenizer from "../tokens/Tokenizer.ts"
import * as Admission from "./Admission.ts"
import { Comebacks } from "./Comebacks.ts"
import { Defaults } from "./Defaults.ts"
import { Gates } from "./Gates.ts"
import type { Parking } from "./Parking.ts"
import { ParkingPlace } from "./ParkingPlace.ts"
import * as MissingTools from "./MissingTools.ts"
import { Providers } from "./Providers.ts"
import { Quarantine } from "./Quarantine.ts"
import { Seals } from "./Seals.ts"
import type { Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as Setbacks from "./Setbacks.ts"
import { Tools } from "./Tools.ts"
import { RightOfWay } from "./RightOfWay.ts"
import * as TurnLife from "./TurnLife.ts"
import * as TurnPorts from "./TurnPorts.ts"
import * as TurnRunner from "./TurnRunner.ts"
import { Waking } from "./Waking.ts"

export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turnId: Ids.TurnId, known?: TurnLife.Known) => Effect.Effect<void>
  /** Has a turn that is about to be taken up taken up now: somebody wants something of it. */
  readonly hasten: (session: Session) => void
  /** What becomes of a turn from now on: its seal, or why it stopped without one. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  /** Whether a turn runs here, waits for those before it, or is parked. */
  readonly has: (turn: Pick<Turn, "conversationId" | "turnId">) => boolean
  /** Turns that wait on disk alone. */
  readonly parking: Parking
}

/** A queue whose turns stop, unsealed, with the scope. `down` is done when the service goes down. */
export const make = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const dependencies = yield* gather(sessions, down)
  const { isStopping, place, rightOfWay, timer } = dependencies
  // Behind the fibers: a runner goes on without this conversation, and its gates with it (K3).
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const { turns } of sessions) for (const turn of turns.slice()) turn.end(Exit.fail(TurnRunner.goingDown))
    })
  )
  const fork = yield* FiberSet.makeRuntime<never>()
  const seals = new Seals()
  const comebacks = new Comebacks()
  const working = new Set<Session>()

  /** The turn that runs next: the first one, or, while that is parked, itself ahead of its time. */
  const nextOf = ({ ahead, conversationId, head }: Session): TurnLife.TurnLife | undefined =>
    ahead ?? (parking.find(conversationId) === undefined ? head : undefined)

  const begin = (session: Session): void => {
    if (working.has(session) || nextOf(session) === undefined) return
    working.add(session)
    fork(work(session))
  }

  const ended = (turn: TurnLife.TurnLife, outcome: Exit.Exit<TurnEvent.TurnEnd, TurnStopped.TurnStopped>): void => {
    turn.end(outcome)
    seals.tell(turn.turnId, outcome)
  }

  const stopped = (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped): void => {
    session.hub.stopped(turn.turnId, error)
    ended(turn, Exit.fail(error))
  }

  /** Seals a turn that has stopped unsealed, or has it run again (Q4); gives its seal. */
  const goOn = Effect.fnUntraced(function* (session: Session, turn: TurnLife.TurnLife, error: TurnStopped.TurnStopped) {
    const { turnId } = turn
    if (error.defect === true) {
      const outcome = yield* Effect.exit(Setbacks.ofDefect(dependencies, session, turn, error))
      if (Exit.isSuccess(outcome)) return outcome.value
      yield* Effect.logError(`Turn ${turnId} could not be sealed: ${errorOf(outcome.cause).message}`)
    }
    yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
    const { interruption } = turn.state
    stopped(session, turn, error)
    const { abort } = session.add(turnId, { _tag: "Stopped", interruption }, "first")
    yield* Setbacks.pause(abort, comebacks.stopped(session.conversationId, yield* Clock.currentTimeMillis))
    return undefined
  })

  /** Runs a turn up to where it is sealed, stops or leaves memory; whether the session's turns go on. */
  const live = Effect.fnUntraced(function* (session: Session, turn: TurnLife.TurnLife) {
    turn.move(TurnLife.begin)
    let outcome = yield* Effect.matchCause(run(dependencies, session, turn), {
      onSuccess: identity,
      onFailure: errorOf
    })
    // From here on up to where those who wait are told nothing gives way: a turn that nobody runs has said what became of it.
    const { _tag, awaited } = turn.state
    turn.move(TurnLife.stop)
    if (_tag === "Ahead") {
      if ("_tag" in outcome) return turn.move(TurnLife.park) // Q6
      parking.drop(session.conversationId)
    }
    if ("_tag" in outcome && outcome._tag === "TurnParked") {
      if (!turn.isWanted && turn.move(TurnLife.park))
        parking.park(session.conversationId, turn.turnId, outcome.retryAt, awaited)
      return true // Q5
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
    function* (session: Session) {
      let turn = nextOf(session)
      while (turn !== undefined) turn = (yield* live(session, turn)) ? nextOf(session) : undefined
      working.delete(session)
      sessions.release(session)
    },
    (work, session) =>
      Effect.onInterrupt(work, () =>
        Effect.sync(() => {
          const { ahead, head } = session
          if (ahead !== undefined) ahead.move(TurnLife.park) // Q6
          else if (head !== undefined && head.state._tag !== "Queued") stopped(session, head, TurnRunner.goingDown)
        })
      )
  )

  const waking = new Waking({ begin, place, rightOfWay, sessions, timer })
  const { parking } = waking

  yield* Effect.addFinalizer(() => Effect.sync(() => waking.close()))
  // Runs first of all that ends with this queue: the turns still run.
  yield* Effect.addFinalizer(() => Setbacks.inGoodOrder(dependencies))

  const queue: TurnQueue = {
    parking,
    add: (session, turnId, known) =>
      Effect.sync(() => {
        session.add(turnId, { _tag: "Queued", ...known }, "last")
        begin(session)
      }),
    hasten: begin,
    sealOf: (turnId) => seals.await(turnId),
    has: ({ conversationId, turnId }) =>
      parking.find(conversationId)?.turnId === turnId || sessions.find(conversationId)?.has(turnId) === true
  }
  return queue
})

// --- internal

/** What turns run on. */
const gather = Effect.fnUntraced(function* (sessions: Sessions, down: Deferred.Deferred<void>) {
  const timer = yield* Timer
  return {
    sessions,
    timer,
    sleepUntil: timer.sleepUntil,
    stopping: Deferred.await(down),
    isStopping: Deferred.isDone(down),
    life: yield* Life,
    store: yield* Store,
    journal: yield* Journal,
    interruptions: yield* Interruptions,
    quarantine: yield* Quarantine,
    place: yield* ParkingPlace,
    rightOfWay: yield* RightOfWay,
    providers: yield* Providers,
    gates: yield* Gates,
    tools: yield* Tools,
    defaults: yield* Defaults,
    standings: yield* Standings
  }
})

type Dependencies = Effect.Success<ReturnType<typeof gather>>

/** Commands hear from the journal what became of them; and where a turn does something new it has come back into memory. */
const listenerOf = (turn: TurnLife.TurnLife): JournalCheckpoint.Listener => ({
  // Before anybody is told of the wait: a command may be the answer to that.
  begins: (name) => turn.begins(Records.placeOf(name)?.kind === "Wake"),
  recorded: (record) => {
    Setbacks.recorded(turn, record)
    const wake = Records.valueOf("Wake", record)
    if (wake === undefined) return
    turn.wait.hear(wake)
    if (wake.type === "asked") turn.move(TurnLife.without("pass")) // it calls when somebody has answered
  }
})

/** Q4 */
const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))

const run = Effect.fnUntraced(function* (dependencies: Dependencies, session: Session, turn: TurnLife.TurnLife) {
  const { providers, defaults, gates, journal, sleepUntil, standings, store, tools } = dependencies
  const { turnId } = turn
  const { arrival } = turn.state
  const patiently = TurnRunner.untilItWorks(turnId, dependencies.stopping)
  const sealed = yield* Setbacks.enter(dependencies, session, turn)
  if (sealed !== undefined) return sealed
  const resumption = arrival?.resumption ?? Option.getOrThrow(yield* patiently(store.resumption(turnId)))
  const { conversation } = resumption
  const { checkpoint, commandIds } =
    arrival === undefined
      ? yield* patiently(JournalCheckpoint.make(journal, turnId, patiently, listenerOf(turn)))
      : // Should a new turn have records all the same, its first one collides with them (J2).
        JournalCheckpoint.over(journal, turnId, [], patiently, listenerOf(turn))
  turn.wait.know(commandIds)
  const target = Target.parse(conversation.model) ?? defaults.model
  // What the settings say is where a conversation's switch begins; from then on the switch alone says it (P15).
  const policy = { ...policyOf(conversation, defaults), enabled: true }
  const isEnabled = () => session.autoRetry ?? conversation.autoRetryEnabled
  const isRetried = () => isEnabled() && RetryPolicy.mostRetries(policy) !== 0
  // The gate stands outside the limits: a call that runs into one has failed, and the gate has to know.
  const limited = Limits.withLimits(route(providers), policy.requestTimeout)
  const provider = Admission.gated(limited, gates, turn, isRetried)
  const { history } = resumption
  turn.state.seat?.weigh(ContextSize.charactersOf(history))
  const { credentials } = providers
  const ports = yield* TurnPorts.make(
    { standings, tokenizer: Tokenizer.load, credentials, models: defaults.models },
    { policy, provider, history, isEnabled, patiently }
  )
  const toolbox = yield* tools.toolbox
  const failure = yield* MissingTools.settle(tools, {
    conversationId: conversation.conversationId,
    turnId,
    isFirstLife: !checkpoint.known?.some(({ name }) => name === Records.nameOf("Attempt", 0)),
    live: (event) => session.hub.live(event),
    makeRoom: () => {
      turn.move(TurnLife.without("place"))
      turn.state.seat?.ready()
    },
    abort: Deferred.await(turn.abort)
  })
  const setting = { session, life: turn, resumption, target, gates, policy, ports, isEnabled, store, sleepUntil }
  const reached = failure === undefined ? provider : MissingTools.failing(failure)
  return yield* TurnRunner.run({ ...setting, provider: reached, patiently, checkpoint, toolbox })
})

/**
 * The policy of a conversation: its own settings over the configuration's. It may lower the limit of a response and not raise it: the
 * memory is the service's (C11).
 */
export const policyOf = ({ retry: own }: Conversation, { retry }: Defaults["Service"]): RetryPolicy.RetryPolicy => {
  if (own === undefined) return Profile.resolve(retry)
  const { maxResponseCharacters: most = ResponseLimit.MOST_CHARACTERS } = retry
  const policy = Profile.resolve({ ...retry, ...Result.getOrElse(Profile.decode(own), () => undefined) })
  return (policy.maxResponseCharacters ?? 0) > most ? { ...policy, maxResponseCharacters: most } : policy
}

/** Every target's own provider, with the credential that was chosen: a turn goes from one to another. */
const route = (providers: Providers["Service"]): Provider.Provider["Service"] => ({
  stream: (request) =>
    (providers.get(request.target.provider, request.credential) ?? missing(request.target, providers.names)).stream(
      request
    )
})

/** Q3 */
const missing = (target: Target.Target, names: ReadonlyArray<string>): Provider.Provider["Service"] => ({
  stream: () =>
    Stream.make({
      type: "error",
      failure: {
        reason: "model-unavailable",
        message: `There is no provider named "${target.provider}" in the configuration; there are: ${names.join(", ")}.`,
        retryable: false
      }
    })
})
