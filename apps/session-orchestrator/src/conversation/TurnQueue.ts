/**
 * Runs accepted turns: one at a time per conversation, in order, on fibers of the service.
 *
 * Q1. A conversation has a fiber while it has turns, and no longer.
 * Q2. A turn that begins a long wait leaves memory, fiber, messages and all (`Parking`); the turns behind it stay queued.
 * Q3. A turn that cannot be run as it stands, because its model or its settings are gone from the configuration, is sealed
 *     as failed and says so; it does not block those behind it.
 * Q4. Neither does one that stops unsealed, because it is run elsewhere or because of a bug. Whoever waits for it is told.
 * Q5. From the moment at which a parked turn is wanted it is reached through its session: no command and no abort that comes
 *     while it leaves memory, or while it is read from the disk, is lost.
 */
import { type Provider, TurnStopped } from "@holdfast/kernel"
import { Profile } from "@holdfast/policy"
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Deferred, Effect, Exit, FiberSet, Option, Result, type Scope, Stream } from "effect"
import type * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import type { Timer } from "../durable/Timer.ts"
import type { Conversation, StorageError, Turn } from "../storage/Store.ts"
import type { Defaults } from "./Defaults.ts"
import { Parking, type Reason } from "./Parking.ts"
import type { Providers } from "./Providers.ts"
import { Seals } from "./Seals.ts"
import type { Running, Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as TurnRunner from "./TurnRunner.ts"
import { Wait } from "./Wait.ts"

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

export interface Dependencies extends Omit<TurnRunner.Resources, "checkpoint"> {
  readonly sessions: Sessions
  readonly providers: Providers["Service"]
  readonly defaults: Defaults["Service"]
  readonly timer: Timer["Service"]
  readonly isStopping: Effect.Effect<boolean>
  /** The records of a turn, as a checkpoint over them. */
  readonly checkpointOf: (turnId: Ids.TurnId, isNew: boolean) => Effect.Effect<JournalCheckpoint.Resumed, StorageError>
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

  const stopped = (session: Session, turnId: Ids.TurnId, error: TurnStopped.TurnStopped): void => {
    session.hub.stopped(turnId, error)
    seals.tell(turnId, Exit.fail(error))
  }

  const work = Effect.fnUntraced(function* (session: Session) {
    for (let next = session.queue.shift(); next !== undefined; next = session.queue.shift()) {
      const { turnId, reason } = next
      const running: Running = { turnId, abort: Deferred.makeUnsafe(), wait: new Wait(), parkedUntil: undefined }
      if (reason?._tag === "Abort") yield* Deferred.succeed(running.abort, undefined)
      if (reason?._tag === "Wake") running.wait.begin(reason.wake)
      session.running = running
      const end = yield* run(dependencies, session, running, next.isNew).pipe(
        Effect.onInterrupt(() => Effect.sync(() => stopped(session, turnId, TurnRunner.goingDown))),
        Effect.exit
      )
      // From here on up to where those who wait are told nothing gives way: a turn that nobody runs has said what became of it.
      session.running = undefined
      const left = Exit.isFailure(end) ? leaving(running) : undefined
      if (left?._tag === "Parked") {
        parking.park(session.conversationId, turnId, left.until)
        break
      }
      if (left?._tag === "Wanted") {
        session.queue.unshift({ turnId, isNew: false, reason: left.reason }) // Q5
        continue
      }
      if (Exit.isSuccess(end)) {
        seals.tell(turnId, end)
      } else {
        const error = stoppedBy(end.cause)
        stopped(session, turnId, error)
        yield* Effect.logWarning(`Turn ${turnId} stopped unsealed: ${error.message}`)
      }
      if (yield* isStopping) break
    }
    working.delete(session)
    sessions.release(session)
  })

  const parking: Parking = new Parking(timer, (conversationId, turnId, reason) => {
    const session = sessions.wake(conversationId)
    session.queue.unshift({ turnId, isNew: false, reason })
    begin(session)
  })

  yield* Effect.addFinalizer(() => Effect.sync(() => parking.clear()))

  return {
    parking,
    add: (session, turnId, { isNew } = { isNew: false }) =>
      Effect.sync(() => {
        session.queue.push({ turnId, isNew, reason: undefined })
        begin(session)
      }),
    sealOf: (turnId) => seals.await(turnId),
    has: ({ conversationId, turnId }) =>
      parking.find(conversationId)?.turnId === turnId || sessions.find(conversationId)?.has(turnId) === true
  }
})

// --- internal

/** What follows for a turn that wanted to wait on disk; `undefined` for one that has stopped for another reason. */
const leaving = ({
  abort,
  parkedUntil,
  wait
}: Running):
  | { readonly _tag: "Parked"; readonly until: number }
  | { readonly _tag: "Wanted"; readonly reason: Reason }
  | undefined => {
  if (parkedUntil === undefined) return undefined
  if (Deferred.isDoneUnsafe(abort)) return { _tag: "Wanted", reason: { _tag: "Abort" } }
  const wake = wait.take()
  return wake === undefined
    ? { _tag: "Parked", until: parkedUntil }
    : { _tag: "Wanted", reason: { _tag: "Wake", wake } }
}

/** Q4 */
const stoppedBy = (cause: Cause.Cause<TurnStopped.TurnStopped>): TurnStopped.TurnStopped =>
  Option.getOrElse(
    Cause.findErrorOption(cause),
    () => new TurnStopped.TurnStopped({ message: `Holdfast failed: ${String(Cause.squash(cause))}` })
  )

const run = Effect.fnUntraced(function* (
  { providers, defaults, checkpointOf, ...resources }: Dependencies,
  session: Session,
  running: Running,
  isNew: boolean
) {
  const { turnId } = running
  const patiently = <A>(effect: Effect.Effect<A, StorageError>) =>
    TurnRunner.untilItWorks(effect, turnId, resources.stopping)
  const resumption = Option.getOrThrow(yield* patiently(resources.store.resumption(turnId)))
  const { conversation } = resumption
  const { checkpoint, commandIds } = yield* patiently(checkpointOf(turnId, isNew))
  running.wait.know(commandIds)
  return yield* TurnRunner.run(
    {
      session,
      running,
      resumption,
      target: Target.parse(conversation.model) ?? defaults.model,
      provider: route(providers),
      policy: policyOf(conversation, defaults)
    },
    { ...resources, checkpoint }
  )
})

/** The policy of a conversation: its own settings over the configuration's. */
export const policyOf = ({ retry: own }: Conversation, { retry }: Defaults["Service"]) =>
  Profile.resolve(own === undefined ? retry : { ...retry, ...Result.getOrElse(Profile.decode(own), () => undefined) })

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
