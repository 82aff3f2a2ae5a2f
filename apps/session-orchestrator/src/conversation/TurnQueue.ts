/**
 * Runs accepted turns: one at a time per conversation, in order, on fibers of the service.
 *
 * Q1. A conversation has a fiber while it has turns, and no longer.
 * Q2. A turn that begins a long wait leaves memory, fiber, messages and all (`Parking`); the turns behind it stay queued.
 * Q3. A turn that cannot be run as it stands, because its model or its settings are gone from the configuration, is sealed
 *     as failed and says so; it does not block those behind it.
 */
import type { Provider } from "@holdfast/kernel"
import { Profile } from "@holdfast/policy"
import { type Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, FiberSet, Option, Result, type Scope, Stream } from "effect"
import type * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import type { Timer } from "../durable/Timer.ts"
import type { Conversation, StorageError, Turn } from "../storage/Store.ts"
import type { Defaults } from "./Defaults.ts"
import type { Providers } from "./Providers.ts"
import type { Running, Session } from "./Session.ts"
import type { Sessions } from "./Sessions.ts"
import * as TurnRunner from "./TurnRunner.ts"
import { Wait } from "./Wait.ts"
import { Parking, type Reason } from "./Parking.ts"

export interface TurnQueue {
  /** Queues an accepted turn behind the others of its conversation. */
  readonly add: (session: Session, turn: Turn) => Effect.Effect<void>
  /** The seal of a turn, once somebody here has put it on. */
  readonly sealOf: (turnId: Ids.TurnId) => Effect.Effect<TurnEvent.TurnEnd>
  /** Turns that wait on disk alone. */
  readonly parking: Parking
}

export interface Dependencies extends Omit<TurnRunner.Resources, "checkpoint"> {
  readonly sessions: Sessions
  readonly providers: Providers["Service"]
  readonly defaults: Defaults["Service"]
  readonly timer: Timer["Service"]
  /** The records of a turn, as a checkpoint over them. */
  readonly checkpointOf: (turnId: Ids.TurnId) => Effect.Effect<JournalCheckpoint.Resumed, StorageError>
}

/** A queue whose turns stop, unsealed, with the scope. */
export const make = Effect.fnUntraced(function* (
  dependencies: Dependencies
): Effect.fn.Return<TurnQueue, never, Scope.Scope> {
  const { sessions, stopping, store, timer } = dependencies
  const fork = yield* FiberSet.makeRuntime<never>()
  const seals = new Map<Ids.TurnId, Deferred.Deferred<TurnEvent.TurnEnd>>()
  const working = new Set<Session>()

  const begin = (session: Session): void => {
    if (working.has(session) || parking.find(session.conversationId) !== undefined) return
    working.add(session)
    fork(work(session))
  }

  const work = Effect.fnUntraced(function* (session: Session) {
    for (let next = session.queue.shift(); next !== undefined; next = session.queue.shift()) {
      const { turn, reason } = next
      const running: Running = { turn, abort: Deferred.makeUnsafe(), wait: new Wait(), parkedUntil: undefined }
      if (reason?._tag === "Abort") yield* Deferred.succeed(running.abort, undefined)
      session.running = running
      const end = yield* Effect.result(run(dependencies, session, running, reason))
      session.running = undefined
      if (Result.isFailure(end)) {
        const news = running.wait.take()
        if (running.parkedUntil !== undefined && news !== undefined) {
          // Somebody wanted something of it while it was leaving.
          session.queue.unshift({ turn, reason: { _tag: "Wake", wake: news } })
          continue
        }
        if (running.parkedUntil !== undefined) {
          parking.park(turn.conversationId, turn.turnId, running.parkedUntil)
        } else {
          yield* Effect.logWarning(`Turn ${turn.turnId} stopped unsealed: ${end.failure.message}`)
        }
        break
      }
      const seal = seals.get(turn.turnId)
      seals.delete(turn.turnId)
      if (seal !== undefined) yield* Deferred.succeed(seal, end.success)
    }
    working.delete(session)
    sessions.release(session)
  })

  /** Puts a turn that was parked at the head of its conversation again. */
  const resume = Effect.fnUntraced(function* (conversationId: Ids.ConversationId, turnId: Ids.TurnId, reason: Reason) {
    const patiently = <A>(effect: Effect.Effect<A, StorageError>) => TurnRunner.untilItWorks(effect, turnId, stopping)
    const conversation = yield* patiently(store.conversation(conversationId))
    const turn = yield* patiently(store.turn(turnId))
    if (Option.isNone(conversation) || Option.isNone(turn)) return
    const session = yield* sessions.hold(conversation.value)
    session.queue.unshift({ turn: turn.value, reason })
    begin(session)
  }, Effect.scoped)

  const parking: Parking = new Parking(timer, (conversationId, turnId, reason) => {
    fork(Effect.ignore(resume(conversationId, turnId, reason)))
  })

  return {
    parking,
    add: (session, turn) =>
      Effect.sync(() => {
        session.queue.push({ turn, reason: undefined })
        begin(session)
      }),
    sealOf: (turnId) =>
      Effect.suspend(() => {
        const seal = seals.get(turnId) ?? Deferred.makeUnsafe<TurnEvent.TurnEnd>()
        seals.set(turnId, seal)
        return Deferred.await(seal)
      })
  }
})

// --- internal

const run = Effect.fnUntraced(function* (
  { providers, defaults, checkpointOf, ...resources }: Dependencies,
  session: Session,
  running: Running,
  reason: Reason | undefined
) {
  const { turnId, conversationId } = running.turn
  const patiently = <A>(effect: Effect.Effect<A, StorageError>) =>
    TurnRunner.untilItWorks(effect, turnId, resources.stopping)
  const conversation = yield* patiently(resources.store.conversation(conversationId))
  const history = yield* patiently(resources.store.messages(conversationId))
  const { checkpoint, commandIds } = yield* patiently(checkpointOf(turnId))
  running.wait.know(commandIds)
  if (reason?._tag === "Wake") running.wait.begin(reason.wake)
  return yield* TurnRunner.run(
    {
      session,
      running,
      target: targetOf(Option.getOrUndefined(conversation), defaults),
      provider: route(providers),
      system: Option.getOrUndefined(conversation)?.system,
      // What this turn has written itself, before a restart, it writes again.
      history: history.filter((message) => message.turnId !== turnId),
      policy: policyOf(Option.getOrUndefined(conversation), defaults)
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
