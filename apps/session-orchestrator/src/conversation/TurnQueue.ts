/**
 * Runs accepted turns: one at a time per conversation, in order, on fibers of the service.
 *
 * Q1. A conversation has a fiber while it has turns, and no longer.
 * Q2. A turn that begins a long wait leaves memory, fiber, messages and all (`Parking`); the turns behind it stay queued.
 * Q3. A turn that cannot be run as it stands, because its model or its settings are gone from the configuration, is sealed
 *     as failed and says so; it does not block those behind it.
 * Q4. No turn passes one before it that is not sealed. A turn that stops unsealed is run again from its records: after a defect of the
 *     service twice, and then it is sealed as failed (C10); when another process has written, in growing distances (`Comebacks`), and
 *     those who wait for it are told. An abort ends it at any of these moments.
 * Q5. From the moment at which a parked turn is wanted it is reached through its session, by handles that stay the same:
 *     of the commands and aborts that come while it leaves memory, or while it is read from the disk, none is lost, and
 *     they are heard in their order.
 * Q6. Parked turns come back as `Waking` says. One that is in memory ahead of its time and stops there is parked still, and nobody hears
 *     of it.
 * Q8. A turn that may take the process down runs alone (`Quarantine`), and one that did so again is sealed without being run (X14). What
 *     stops with the service in good order is on record, so that it counts for no death.
 * Q7. Whoever waits to hear that a command is on record (`Wait`), or a turn sealed, hears of it when it has stopped instead.
 */
import { type Provider, Records, ResponseLimit, TurnStopped } from "@holdfast/kernel"
import { Profile, RetryPolicy } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Clock, Deferred, Effect, Exit, FiberSet, Option, Result, type Scope, Stream } from "effect"
import type * as Interruption from "../durable/Interruption.ts"
import type * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import type { Timer } from "../durable/Timer.ts"
import type { Interruptions } from "../storage/Interruptions.ts"
import type { Journal } from "../storage/Journal.ts"
import type { Standings } from "../storage/Standings.ts"
import type { Conversation, StorageError, Turn } from "../storage/Store.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import type * as Tokenizer from "../tokens/Tokenizer.ts"
import * as Admission from "./Admission.ts"
import { Comebacks } from "./Comebacks.ts"
import type { Defaults } from "./Defaults.ts"
import type { Gates } from "./Gates.ts"
import type { Parking } from "./Parking.ts"
import type { ParkingPlace } from "./ParkingPlace.ts"
import * as MissingTools from "./MissingTools.ts"
import type { Providers } from "./Providers.ts"
import type { QuarantineService } from "./Quarantine.ts"
import { Seals } from "./Seals.ts"
import { type Arrival, type Running, running as handlesOf, type Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as Setbacks from "./Setbacks.ts"
import type { Tools } from "./Tools.ts"
import type { RightOfWay } from "./RightOfWay.ts"
import * as TurnPorts from "./TurnPorts.ts"
import * as TurnRunner from "./TurnRunner.ts"
import { Waking } from "./Waking.ts"

export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (
    session: Session,
    turnId: Ids.TurnId,
    arrival?: Arrival,
    interruption?: Interruption.Interruption
  ) => Effect.Effect<void>
  /** Has a turn that is about to be taken up taken up now: somebody wants something of it. */
  readonly hasten: (session: Session) => void
  /** What becomes of a turn from now on: its seal, or why it stopped without one. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  /** Whether a turn runs here, waits for those before it, or is parked. */
  readonly has: (turn: Pick<Turn, "conversationId" | "turnId">) => boolean
  /** Turns that wait on disk alone. */
  readonly parking: Parking
}

export interface Dependencies extends Omit<TurnRunner.Resources, "checkpoint" | "toolbox"> {
  readonly sessions: Sessions
  readonly providers: Providers["Service"]
  readonly gates: Gates["Service"]
  readonly defaults: Defaults["Service"]
  readonly tools: Tools["Service"]
  readonly standings: Standings["Service"]
  readonly tokenizer: Effect.Effect<Tokenizer.Count>
  readonly timer: Timer["Service"]
  readonly place: ParkingPlace
  readonly rightOfWay: RightOfWay
  readonly journal: Journal["Service"]
  readonly interruptions: Interruptions["Service"]
  readonly quarantine: QuarantineService
  /** The name of this process. */
  readonly life: string
  readonly isStopping: Effect.Effect<boolean>
  /** The records of a turn, as a checkpoint over them. */
  readonly checkpointOf: (
    turnId: Ids.TurnId,
    listener: JournalCheckpoint.Listener,
    isNew: boolean
  ) => Effect.Effect<JournalCheckpoint.Resumed, StorageError>
}

/** A queue whose turns stop, unsealed, with the scope. */
export const make = Effect.fnUntraced(function* (
  dependencies: Dependencies
): Effect.fn.Return<TurnQueue, never, Scope.Scope> {
  const { isStopping, place, rightOfWay, sessions, timer } = dependencies
  // Behind the fibers: a runner goes on without this conversation, and its gates with it (K3).
  yield* Effect.addFinalizer(() => Effect.sync(() => giveBack(sessions)))
  const fork = yield* FiberSet.makeRuntime<never>()
  const seals = new Seals()
  const comebacks = new Comebacks()
  const working = new Set<Session>()

  const begin = (session: Session): void => {
    if (working.has(session) || session.queue.length === 0 || parking.find(session.conversationId) !== undefined) return
    working.add(session)
    fork(work(session))
  }

  const stopped = (session: Session, running: Running, error: TurnStopped.TurnStopped): void => {
    const { turnId } = running
    session.hub.stopped(turnId, error)
    tell(running, Exit.fail(error))
    seals.tell(turnId, Exit.fail(error))
  }

  /** Runs a turn that has stopped unsealed again, or seals it (Q4); gives what runs next, or its seal. */
  const goOn = Effect.fnUntraced(function* (session: Session, running: Running, error: TurnStopped.TurnStopped) {
    const { turnId } = running
    if (error.defect === true) {
      const outcome = yield* Effect.exit(Setbacks.ofDefect(dependencies, session, running, error))
      if (Exit.isSuccess(outcome)) return outcome.value
      yield* Effect.logError(`Turn ${turnId} could not be sealed: ${errorOf(outcome.cause).message}`)
    }
    yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
    stopped(session, running, error)
    const next = handlesOf(turnId, undefined, running.interruption)
    session.running = next
    yield* Setbacks.pause(next, comebacks.stopped(session.conversationId, yield* Clock.currentTimeMillis))
    return next
  })

  const work = Effect.fnUntraced(
    function* (session: Session, first?: Running) {
      let running = first ?? session.queue.shift()
      while (running !== undefined) {
        const { turnId } = running
        session.running = running
        const exit = yield* Effect.exit(run(dependencies, session, running))
        // From here on up to where those who wait are told nothing gives way: a turn that nobody runs has said what became of it.
        running.stay?.leave()
        running.stay = undefined
        session.running = undefined
        running.arrival = undefined
        running.leaveTurnstile()
        Admission.giveBack(running)
        const { ahead, awaited } = running
        const outcome = Exit.isSuccess(exit) ? exit.value : errorOf(exit.cause)
        ahead?.leave()
        if (ahead !== undefined) {
          if ("_tag" in outcome) break // Q6
          parking.drop(session.conversationId)
        }
        let end: TurnEvent.TurnEnd
        if ("type" in outcome) end = outcome
        else if (outcome._tag === "TurnParked") {
          if (isWanted(running)) continue // Q5
          parking.park(session.conversationId, turnId, outcome.retryAt, awaited)
          if (parking.find(session.conversationId) !== undefined) break
          running = session.queue.shift()
          continue
        } else {
          session.running = running
          if (yield* isStopping) {
            stopped(session, running, outcome)
            session.running = undefined
            break
          }
          const next: Running | TurnEvent.TurnEnd = yield* goOn(session, running, outcome)
          if (!("type" in next)) {
            running = next
            continue
          }
          session.running = undefined
          end = next
        }
        const sealed = Exit.succeed(end)
        tell(running, sealed)
        seals.tell(turnId, sealed)
        if (yield* isStopping) break
        running = session.queue.shift()
      }
      working.delete(session)
      sessions.release(session)
    },
    (work, session, _first?: Running) =>
      Effect.onInterrupt(work, () =>
        Effect.sync(() => {
          const { running } = session
          // Q6
          if (running !== undefined && running.ahead === undefined) stopped(session, running, TurnRunner.goingDown)
        })
      )
  )

  const prepare = (session: Session, running: Running): void => {
    // Before anything of it is run: it may be called on the spot.
    session.running = running
    working.add(session)
    fork(work(session, running))
  }
  const waking = new Waking({ begin, place, prepare, rightOfWay, sessions, timer })
  const { parking } = waking

  yield* Effect.addFinalizer(() => Effect.sync(() => waking.close()))
  // Runs first of all that ends with this queue: the turns still run.
  yield* Effect.addFinalizer(() => Setbacks.inGoodOrder(dependencies))

  return {
    parking,
    add: (session, turnId, arrival, interruption) =>
      Effect.sync(() => {
        session.queue.push(handlesOf(turnId, arrival, interruption))
        begin(session)
      }),
    hasten: begin,
    sealOf: (turnId) => seals.await(turnId),
    has: ({ conversationId, turnId }) =>
      parking.find(conversationId)?.turnId === turnId || sessions.find(conversationId)?.has(turnId) === true
  }
})

// --- internal

/** Whether somebody wants something of a turn that is about to wait on disk. */
const isWanted = ({ abort, wait }: Running): boolean => Deferred.isDoneUnsafe(abort) || wait.hasNews

/** Nothing that runs or is queued will call any more. */
const giveBack = (sessions: Sessions): void => {
  for (const { head, behind } of sessions) for (const running of [head, ...behind]) running?.pass?.giveBack()
}

/** Q7 */
const tell = ({ ended, wait }: Running, outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void => {
  wait.end(outcome)
  Deferred.doneUnsafe(ended, Exit.asVoid(outcome))
}

/** Commands hear from the journal what became of them; and where a turn does something new it has come back into memory. */
const listenerOf = (running: Running): JournalCheckpoint.Listener => ({
  begins: (name) => {
    // Before anybody is told of the wait: a command may be the answer to that.
    if (Records.placeOf(name)?.kind === "Wake") running.wait.open()
    else running.wait.pass()
    // The end of the wait that it was woken from is still to be put on record.
    if (!running.wait.hasNews) running.leaveTurnstile()
  },
  recorded: (record) => {
    Setbacks.recorded(running, record)
    const wake = Records.valueOf("Wake", record)
    if (wake === undefined) return
    running.wait.hear(wake)
    if (wake.type === "asked") Admission.giveBack(running) // it calls when somebody has answered
  }
})

/** Q4 */
const errorOf = <E>(cause: Cause.Cause<E>): E | TurnStopped.TurnStopped =>
  Option.getOrElse(Cause.findErrorOption(cause), () => TurnStopped.ofDefect(Cause.squash(cause)))

const run = Effect.fnUntraced(function* (dependencies: Dependencies, session: Session, running: Running) {
  const { providers, defaults, checkpointOf, gates, standings, tokenizer, tools, ...resources } = dependencies
  const { arrival, turnId, wait } = running
  const patiently = Setbacks.patiently(dependencies, turnId)
  const sealed = yield* Setbacks.enter(dependencies, session, running)
  if (sealed !== undefined) return sealed
  const resumption = arrival?.resumption ?? Option.getOrThrow(yield* patiently(resources.store.resumption(turnId)))
  const { conversation } = resumption
  const { checkpoint, commandIds } = yield* patiently(checkpointOf(turnId, listenerOf(running), arrival !== undefined))
  wait.know(commandIds)
  const target = Target.parse(conversation.model) ?? defaults.model
  // What the settings say is where a conversation's switch begins; from then on the switch alone says it (P15).
  const policy = { ...policyOf(conversation, defaults), enabled: true }
  const isEnabled = () => session.autoRetry ?? conversation.autoRetryEnabled
  const isRetried = () => isEnabled() && RetryPolicy.mostRetries(policy) !== 0
  // The gate stands outside the limits: a call that runs into one has failed, and the gate has to know.
  const limited = Limits.withLimits(route(providers), policy.requestTimeout)
  const provider = Admission.gated(limited, gates, running, isRetried)
  const { history } = resumption
  running.ahead?.weigh(ContextSize.charactersOf(history))
  const { credentials } = providers
  const ports = yield* TurnPorts.make(
    { standings, tokenizer, credentials, models: defaults.models },
    { policy, provider, history, isEnabled, patiently }
  )
  const toolbox = yield* tools.toolbox
  const failure = yield* MissingTools.settle(tools, {
    conversationId: conversation.conversationId,
    turnId,
    isFirstLife: !checkpoint.known?.some(({ name }) => name === Records.nameOf("Attempt", 0)),
    live: (event) => session.hub.live(event),
    makeRoom: () => {
      running.leaveTurnstile()
      running.ahead?.ready()
    },
    abort: Deferred.await(running.abort)
  })
  return yield* TurnRunner.run(
    {
      session,
      running,
      resumption,
      target,
      provider: failure === undefined ? provider : MissingTools.failing(failure),
      gates,
      policy,
      ports,
      isEnabled
    },
    { ...resources, checkpoint, toolbox }
  )
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
