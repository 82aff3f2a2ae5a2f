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
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, FiberSet, Option, Result, type Scope, Stream } from "effect"
import type * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import type { Timer } from "../durable/Timer.ts"
import * as TurnRecord from "../durable/TurnRecord.ts"
import type { Conversation, StorageError, Turn } from "../storage/Store.ts"
import type { Defaults } from "./Defaults.ts"
import { Parking } from "./Parking.ts"
import type { Providers } from "./Providers.ts"
import { Seals } from "./Seals.ts"
import { type Running, running as handlesOf, type Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as TurnRunner from "./TurnRunner.ts"
import type { Wait } from "./Wait.ts"

export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turn: Turn) => Effect.Effect<void>
  /** What becomes of a turn from now on: its seal, or why it stopped without one. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped>
  /** Whether a turn runs here, waits for those before it, or is parked. */
  readonly has: (turn: Pick<Turn, "conversationId" | "turnId">) => boolean
  /** Turns that wait on disk alone. */
  readonly parking: Parking
}

export interface Dependencies extends Omit<TurnRunner.Resources, "checkpoint"> {
  readonly sessions: Sessions
  readonly providers: Providers["Service"]
  readonly defaults: Defaults["Service"]
  readonly timer: Timer["Service"]
  readonly isStopping: Effect.Effect<boolean>
  /** The records of a turn, as a checkpoint over them. */
  readonly checkpointOf: (
    turnId: Ids.TurnId,
    listener: JournalCheckpoint.Listener
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

  const work = Effect.fnUntraced(function* (session: Session) {
    for (let running = session.queue.shift(); running !== undefined; running = session.queue.shift()) {
      const { turnId } = running
      session.running = running
      const end = yield* Effect.exit(run(dependencies, session, running))
      // From here on up to where those who wait are told nothing gives way: a turn that nobody runs has said what became of it.
      session.running = undefined
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
      const stopped = Exit.isFailure(end) ? stoppedBy(end.cause) : undefined
      const outcome = stopped === undefined ? end : Exit.fail(stopped)
      if (stopped !== undefined) session.hub.stopped(turnId, stopped)
      tell(running, outcome)
      seals.tell(turnId, outcome)
      if (stopped !== undefined) yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${stopped.message}`)
      if (yield* isStopping) break
    }
    working.delete(session)
    sessions.release(session)
  })

  const parking: Parking = new Parking(timer, (conversationId, turnId, reason) => {
    const session = sessions.wake(conversationId)
    const running = handlesOf(turnId, undefined)
    reason(running)
    session.queue.unshift(running)
    begin(session)
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => parking.clear()))

  return {
    parking,
    add: (session, turn) =>
      Effect.sync(() => {
        session.queue.push(handlesOf(turn.turnId, turn))
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
    if (!TurnRecord.isWake(name)) wait.pass()
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
  { providers, defaults, checkpointOf, ...resources }: Dependencies,
  session: Session,
  running: Running
) {
  const { turn: known, turnId, wait } = running
  const { conversationId } = session
  const patiently = <A>(effect: Effect.Effect<A, StorageError>) =>
    TurnRunner.untilItWorks(effect, turnId, resources.stopping)
  const turn = known ?? Option.getOrThrow(yield* patiently(resources.store.turn(turnId)))
  const conversation = yield* patiently(resources.store.conversation(conversationId))
  const history = yield* patiently(resources.store.messages(conversationId))
  const { checkpoint, commandIds } = yield* patiently(checkpointOf(turnId, listenerOf(wait)))
  wait.know(commandIds)
  return yield* TurnRunner.run(
    {
      session,
      running,
      turn,
      target: targetOf(Option.getOrUndefined(conversation), defaults),
      provider: route(providers),
      system: Option.getOrUndefined(conversation)?.system,
      // What this turn has written itself, before a restart, it writes again.
      history: history.filter((message) => message.turnId !== turnId),
      policy: policyOf(Option.getOrUndefined(conversation), defaults),
      autoRetryEnabled: Option.getOrUndefined(conversation)?.autoRetryEnabled ?? true
    },
    { ...resources, checkpoint }
  )
})

/** The policy of a conversation: its own settings over the configuration's. */
export const policyOf = (conversation: Conversation | undefined, { retry }: Defaults["Service"]) =>
  Profile.resolve({
    ...retry,
    ...Result.getOrElse(Profile.decode(conversation?.retry ?? {}), () => undefined)
  })

const targetOf = (conversation: Conversation | undefined, { model }: Defaults["Service"]): Target.Target =>
  (conversation && Target.parse(conversation.model)) ?? model

/** Every target's own provider: a turn can be switched from one to another. */
const route = (providers: Providers["Service"]): Provider.Provider["Service"] => ({
  stream: (request) =>
    (providers.get(request.target.provider) ?? missing(request.target, providers.names)).stream(request)
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
