/**
 * Runs accepted turns: one at a time per conversation, in order, on fibers of the service.
 *
 * Q1. A conversation has a fiber while it has turns, and no longer.
 * Q2. A turn that begins a long wait leaves memory, fiber, messages and all (`Parking`); the turns behind it stay queued.
 * Q3. A turn that cannot be run as it stands, because its model or its settings are gone from the configuration, is sealed
 *     as failed and says so; it does not block those behind it.
 * Q4. Neither does one that stops unsealed, because it is run elsewhere or because of a bug. Whoever waits for it is told.
 * Q5. From the moment at which a parked turn is wanted it is reached through its session, by handles that stay the same:
 *     of the commands and aborts that come while it leaves memory, or while it is read from the disk, none is lost, and
 *     they are heard in their order.
 * Q6. Whoever waits to hear that a command is on record (`Wait`), or a turn sealed, hears of it when it has stopped instead.
 */
import { type Provider, TurnStopped } from "@holdfast/kernel"
import { Profile } from "@holdfast/policy"
import { Limits } from "@holdfast/providers"
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, FiberSet, Option, Result, type Scope, Stream } from "effect"
import type * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import type { Timer } from "../durable/Timer.ts"
import * as TurnRecord from "../durable/TurnRecord.ts"
import type { Standings } from "../storage/Standings.ts"
import type { Conversation, StorageError, Turn } from "../storage/Store.ts"
import type * as Tokenizer from "../tokens/Tokenizer.ts"
import type { Defaults } from "./Defaults.ts"
import { Parking } from "./Parking.ts"
import type { Providers } from "./Providers.ts"
import { Seals } from "./Seals.ts"
import { type Running, running as handlesOf, type Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import type { Tools } from "./Tools.ts"
import * as TurnPorts from "./TurnPorts.ts"
import * as TurnRunner from "./TurnRunner.ts"
import type { Wait } from "./Wait.ts"

export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turnId: Ids.TurnId, options?: { readonly isNew: boolean }) => Effect.Effect<void>
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
  readonly defaults: Defaults["Service"]
  readonly toolbox: Tools["Service"]["toolbox"]
  readonly standings: Standings["Service"]
  readonly tokenizer: Effect.Effect<Tokenizer.Count>
  readonly timer: Timer["Service"]
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
  const { isStopping, sessions, timer } = dependencies
  const fork = yield* FiberSet.makeRuntime<never>()
  const seals = new Seals()
  const working = new Set<Session>()

  const begin = (session: Session): void => {
    if (working.has(session) || parking.find(session.conversationId) !== undefined) return
    working.add(session)
    fork(work(session))
  }

  const stopped = (session: Session, running: Running, error: TurnStopped.TurnStopped): void => {
    const { turnId } = running
    session.hub.stopped(turnId, error)
    tell(running, Exit.fail(error))
    seals.tell(turnId, Exit.fail(error))
  }

  const work = Effect.fnUntraced(function* (session: Session) {
    for (let running = session.queue.shift(); running !== undefined; running = session.queue.shift()) {
      const { turnId } = running
      session.running = running
      const end = yield* run(dependencies, session, running).pipe(
        Effect.onInterrupt(() => Effect.sync(() => stopped(session, running, TurnRunner.goingDown))),
        Effect.exit
      )
      // From here on up to where those who wait are told nothing gives way: a turn that nobody runs has said what became of it.
      session.running = undefined
      running.isNew = false
      const { parkedUntil } = running
      if (Exit.isFailure(end) && parkedUntil !== undefined) {
        if (!isWanted(running)) {
          parking.park(session.conversationId, turnId, parkedUntil)
          break
        }
        running.parkedUntil = undefined
        session.queue.unshift(running) // Q5
        continue
      }
      if (Exit.isSuccess(end)) {
        tell(running, end)
        seals.tell(turnId, end)
      } else {
        const error = stoppedBy(end.cause)
        stopped(session, running, error)
        yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
      }
      if (yield* isStopping) break
    }
    working.delete(session)
    sessions.release(session)
  })

  const parking: Parking = new Parking(timer, (conversationId, turnId, reason) => {
    const session = sessions.wake(conversationId)
    const running = handlesOf(turnId, false)
    reason(running)
    session.queue.unshift(running)
    begin(session)
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => parking.clear()))

  return {
    parking,
    add: (session, turnId, { isNew } = { isNew: false }) =>
      Effect.sync(() => {
        session.queue.push(handlesOf(turnId, isNew))
        begin(session)
      }),
    sealOf: (turnId) => seals.await(turnId),
    has: ({ conversationId, turnId }) =>
      parking.find(conversationId)?.turnId === turnId || sessions.find(conversationId)?.has(turnId) === true
  }
})

// --- internal

/** Whether somebody wants something of a turn that is about to wait on disk. */
const isWanted = ({ abort, wait }: Running): boolean => Deferred.isDoneUnsafe(abort) || wait.hasNews

/** Q6 */
const tell = ({ ended, wait }: Running, outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void => {
  wait.end(outcome)
  Deferred.doneUnsafe(ended, Exit.asVoid(outcome))
}

/** Commands hear from the journal what became of them. */
const listenerOf = (wait: Wait): JournalCheckpoint.Listener => ({
  begins: (name) => {
    // Before anybody is told of the wait: a command may be the answer to that.
    if (TurnRecord.isWake(name)) wait.open()
    else wait.pass()
  },
  recorded: (record) => {
    const wake = TurnRecord.wakeOf(record)
    if (wake !== undefined) wait.hear(wake)
  }
})

/** Q4 */
const stoppedBy = (cause: Cause.Cause<TurnStopped.TurnStopped>): TurnStopped.TurnStopped =>
  Option.getOrElse(
    Cause.findErrorOption(cause),
    () => new TurnStopped.TurnStopped({ message: `Holdfast failed: ${String(Cause.squash(cause))}` })
  )

const run = Effect.fnUntraced(function* (
  { providers, defaults, checkpointOf, standings, tokenizer, toolbox, ...resources }: Dependencies,
  session: Session,
  running: Running
) {
  const { isNew, turnId, wait } = running
  const patiently = <A>(effect: Effect.Effect<A, StorageError>) =>
    TurnRunner.untilItWorks(effect, turnId, resources.stopping)
  const resumption = Option.getOrThrow(yield* patiently(resources.store.resumption(turnId)))
  const { conversation } = resumption
  const { checkpoint, commandIds } = yield* patiently(checkpointOf(turnId, listenerOf(wait), isNew))
  wait.know(commandIds)
  const target = Target.parse(conversation.model) ?? defaults.model
  const policy = policyOf(conversation, defaults)
  const provider = Limits.withLimits(route(providers), policy.requestTimeout)
  const isEnabled = () => session.autoRetry ?? conversation.autoRetryEnabled
  const { history } = resumption
  const { credentials } = providers
  const ports = yield* TurnPorts.make(
    { standings, tokenizer, credentials, models: defaults.models },
    { policy, provider, history, isEnabled, patiently, primary: target }
  )
  return yield* TurnRunner.run(
    { session, running, resumption, target, provider, policy, ports, isEnabled },
    { ...resources, checkpoint, toolbox: yield* toolbox }
  )
})

/** The policy of a conversation: its own settings over the configuration's. */
export const policyOf = ({ retry: own }: Conversation, { retry }: Defaults["Service"]) =>
  Profile.resolve(own === undefined ? retry : { ...retry, ...Result.getOrElse(Profile.decode(own), () => undefined) })

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
