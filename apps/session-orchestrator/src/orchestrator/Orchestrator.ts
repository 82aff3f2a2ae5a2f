/**
 * `Conversations` in this process.
 *
 * O1. A turn is on disk before anybody is told that it was accepted (C2).
 * O2. A turn that was accepted is run by a fiber of the service: a client that goes away takes nothing with it.
 * O3. A turn that the last process did not seal is queued again at start, in the order of acceptance.
 * O4. Calls about a conversation wait until that is done, as long as for a database that is silent, and then fail with the error of the
 *     start.
 */
import { Push, TurnStopped } from "@holdfast/kernel"
import { Profile, RetryPolicy } from "@holdfast/policy"
import { type ConversationState, Failure, Ids, Target, type TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Effect, Layer, Option, Result, Schedule, Stream, Struct } from "effect"
import * as Problem from "../config/reading/Problem.ts"
import * as ReportSchema from "../report/ReportSchema.ts"
import { Life } from "../durable/Life.ts"
import * as RecordedWait from "../durable/RecordedWait.ts"
import { Interruptions } from "../storage/Interruptions.ts"
import { Journal, type Record } from "../durable/Journal.ts"
import * as OrderedId from "../storage/OrderedId.ts"
import * as Patience from "../storage/Patience.ts"
import { Standings } from "../storage/Standings.ts"
import { type Conversation, StorageError, Store, type Turn } from "../storage/Store.ts"
import { Tenancy } from "../storage/sqlite/Tenancy.ts"
import * as Acceptance from "./Acceptance.ts"
import * as Answer from "../conversation/Answer.ts"
import * as Commands from "./Commands.ts"
import { Condition } from "../system/Condition.ts"
import {
  ConversationNotFound,
  Conversations,
  type CreateOptions,
  InvalidRequest,
  type TurnCounts
} from "../conversation/Conversations.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Gates } from "../gate/Gates.ts"
import * as InProgress from "../session/InProgress.ts"
import * as NextTarget from "./NextTarget.ts"
import type { Parking } from "../parking/Parking.ts"
import { knownTarget, Providers } from "../conversation/Providers.ts"
import type { Session } from "../session/Session.ts"
import { Sessions } from "../session/Sessions.ts"
import * as TurnQueue from "./TurnQueue.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as Watching from "../session/Watching.ts"

/** Runs turns for as long as its scope is open; those that it does not get to seal are left for the next process. */
export const layer = Layer.suspend(() => make({ takesUp: true }))

/** The same for a process that runs a turn of its own, and leaves alone what others have not sealed. */
export const layerGuest = Layer.suspend(() => make({ takesUp: false }))

// --- internal

const make = ({ takesUp }: { readonly takesUp: boolean }) =>
  Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const store = yield* Store
      const journal = yield* Journal
      const providers = yield* Providers
      const defaults = yield* Defaults
      const standings = yield* Standings
      const condition = yield* Condition
      const sessions = new Sessions()
      const down = yield* Deferred.make<void>()
      const stopping = Deferred.await(down)
      const queue = yield* TurnQueue.make(sessions, down)
      const find = (id: Ids.ConversationId): Effect.Effect<Conversation, ConversationNotFound | StorageError> =>
        Effect.suspend(() => {
          const known = sessions.find(id)?.conversation
          if (known !== undefined) return Effect.succeed(known)
          return Effect.flatMap(
            Effect.andThen(startedInTime(condition), store.conversation(id)), // O4
            Option.match({
              onNone: () => Effect.fail(new ConversationNotFound({ conversationId: id })),
              onSome: Effect.succeed
            })
          )
        })
      const next: NextTarget.Dependencies = {
        store,
        standings,
        credentials: providers.credentials,
        models: defaults.models
      }
      const commands: Commands.Dependencies = { store, sessions, queue, providers, stopping }
      yield* Effect.addFinalizer(() => Deferred.succeed(down, undefined))
      const acceptance: Acceptance.Dependencies = {
        find,
        store,
        journal,
        sessions,
        queue,
        gates: yield* Gates,
        interruptions: yield* Interruptions,
        life: yield* Life,
        tenancy: yield* Tenancy,
        isStopping: Deferred.isDone(down)
      }
      yield* condition.setAnswering(() => Array.from(sessions).some(({ hub }) => hub.inProgress.isAnswering))
      if (takesUp) yield* Effect.forkScoped(takeUp(acceptance, condition), { startImmediately: true })

      const waitOf = (conversation: Conversation, turnId: Ids.TurnId) =>
        Effect.map(journal.load(turnId), (records) => waitEventOf(conversation, turnId, records, defaults))

      /** The session of a conversation, for a watcher: a turn that is parked is waiting there too. */
      const watched = Effect.fnUntraced(function* (conversation: Conversation) {
        const session = yield* sessions.hold(conversation.conversationId)
        const parked = queue.parking.find(conversation.conversationId)
        if (parked === undefined) return session
        const { inProgress } = session.hub
        if (inProgress.retry === undefined) {
          const event = yield* waitOf(conversation, parked.turnId)
          // It may have been taken up while its records were read.
          if (event === undefined || queue.parking.find(conversation.conversationId) !== parked) return session
          inProgress.live(event)
        }
        // What a turn's records tell of its wait knows nothing of a gate that holds it.
        if (parked.heldUntil !== undefined) inProgress.hold(parked.heldUntil)
        return session
      })

      return Conversations.of({
        create: (options) =>
          Effect.gen(function* () {
            const conversation = yield* conversationOf(options, defaults, providers)
            yield* store.createConversation(conversation)
            return conversation.conversationId
          }),
        prompt: (id, { prompt, turnId }) => Acceptance.prompt(acceptance, id, prompt, turnId),
        retry: (id, { turnId }) => Acceptance.retry(acceptance, id, turnId),
        result: (turnId, within) =>
          condition.started.pipe(
            Effect.andThen(sealOf(store, queue, turnId, within)),
            Effect.flatMap((end) => resultOf(store, end))
          ),
        watchTurn: (turnId, within) =>
          Push.unwrap(
            Effect.gen(function* () {
              yield* condition.started // O4
              const conversationId = within ?? (yield* turnOf(store, turnId)).conversationId
              const session = yield* watched(yield* find(conversationId))
              const events = eventsOf(store, queue, { conversationId, turnId })
              return Watching.watch(session, () => Stream.fromIterableEffect(events), { turnId })
            }).pipe(Effect.catchTag("ConversationNotFound", Effect.die))
          ).pipe(Watching.ofTurn(turnId)),
        watch: (id, after) =>
          Push.unwrap(
            Effect.gen(function* () {
              const session = yield* watched(yield* find(id))
              return Watching.watch(session, (from) => store.events(id, from), { after })
            })
          ),
        // P14: cancelling the retry is part of aborting; the kernel closes the chain before the seal.
        abort: (conversationId, turnId) =>
          Effect.gen(function* () {
            yield* find(conversationId)
            const address = { conversationId, turnId }
            if (yield* Commands.abort(commands, address)) return true
            // A turn that nothing has in memory, though it is not sealed, is ended all the same.
            return (yield* Acceptance.recover(acceptance, conversationId)) && (yield* Commands.abort(commands, address))
          }),
        steer: (steering, origin, turnId) =>
          Effect.gen(function* () {
            const { conversationId } = steering
            const command = yield* Commands.decode(steering, origin, providers)
            yield* find(conversationId)
            return yield* Commands.steer(commands, { conversationId, turnId }, command)
          }),
        setAutoRetry: (id, enabled) =>
          Effect.gen(function* () {
            yield* find(id)
            yield* store.setAutoRetry(id, enabled)
            const session = sessions.find(id)
            if (session !== undefined) session.autoRetry = enabled
          }),
        counts: Effect.sync(() => countsOf(sessions, queue.parking)),
        state: (id) =>
          Effect.gen(function* () {
            const conversation = yield* find(id)
            const parked = queue.parking.find(id)
            const recorded = parked === undefined ? undefined : yield* waitOf(conversation, parked.turnId)
            const until = parked?.heldUntil
            const wait = recorded && until !== undefined ? InProgress.prolonged(recorded, until) : recorded
            const session = sessions.find(id)
            const state = stateOf(conversation, session, wait)
            const policy = TurnSetting.policyOf(conversation, defaults)
            const model =
              state.status === "idle"
                ? yield* NextTarget.of(next, conversation, policy)
                : (wait?.target ?? session?.hub.inProgress.target ?? conversation.model)
            return { ...state, model }
          }),
        messages: (id) => Effect.andThen(find(id), store.messages(id))
      })
    })
  )

/** O3. A database that cannot be read is asked again; until then the service says that it is not ready, and why. */
const takeUp = (acceptance: Acceptance.Dependencies, condition: Condition["Service"]): Effect.Effect<void> =>
  Effect.andThen(
    condition.setStarting("The turns that the last process left unfinished are being taken up."),
    Acceptance.takeUp(acceptance)
  ).pipe(
    Effect.tapError(({ message }) =>
      Effect.andThen(
        condition.setStarting(`The turns that the last process left unfinished could not be taken up yet: ${message}`),
        Effect.logError(`Unfinished turns could not be taken up. ${message}`)
      )
    ),
    Effect.retry(Schedule.spaced(TAKE_UP_INTERVAL)),
    Effect.orDie,
    Effect.andThen(condition.setStarting(undefined))
  )

/** O4 */
const startedInTime = ({ isStarted, started, starting }: Condition["Service"]): Effect.Effect<void, StorageError> =>
  Effect.suspend(() =>
    isStarted()
      ? Effect.void
      : Effect.timeoutOrElse(started, {
          duration: Patience.SILENCE_LIMIT,
          orElse: () =>
            Effect.flatMap(starting, (what) =>
              what === undefined ? Effect.void : Effect.fail(new StorageError({ message: what }))
            )
        })
  )

/** Between two tries to read what the last process left. */
const TAKE_UP_INTERVAL = "5 seconds"

/** Room for a report's schema of hundreds of fields. What is longer would hold up everybody else while it is read. */
const MOST_SETTINGS = 65_536

const conversationOf = Effect.fnUntraced(function* (
  { model, system, retry }: CreateOptions,
  defaults: Defaults["Service"],
  providers: Providers["Service"]
): Effect.fn.Return<Conversation, InvalidRequest> {
  const name = model ?? Target.format(defaults.model)
  yield* knownTarget(name, providers)
  const length = JSON.stringify(retry ?? {}).length
  if (length > MOST_SETTINGS) {
    const message = `retry: it has ${length} characters as JSON; expected ${MOST_SETTINGS} at most.`
    return yield* new InvalidRequest({ message })
  }
  const settings = Profile.decode(retry ?? {})
  if (Result.isFailure(settings)) {
    const { issue } = settings.failure
    return yield* new InvalidRequest({
      message: Problem.firstOf(issue, retry, (path) => Problem.formatPath(["retry", ...path]))
    })
  }
  for (const { name, path } of Profile.targetNames(settings.success)) {
    yield* knownTarget(name, providers, Problem.formatPath(["retry", ...path]))
  }
  const problem = ReportSchema.problemOf(settings.success)
  if (problem !== undefined) return yield* new InvalidRequest({ message: `retry.finalReport.schema: ${problem}` })
  return {
    conversationId: Ids.ConversationId.make(OrderedId.next()),
    model: name,
    system,
    retry,
    autoRetryEnabled: settings.success.enabled ?? defaults.retry.enabled ?? true,
    createdAt: yield* Clock.currentTimeMillis
  }
})

/** Callers have the id from an acceptance, so the turn is there. */
const turnOf = (store: Store["Service"], turnId: Ids.TurnId): Effect.Effect<Turn, StorageError> =>
  Effect.flatMap(
    store.turn(turnId),
    Option.match({
      onNone: () => Effect.die(new Error(`turn ${turnId} was never accepted`)),
      onSome: Effect.succeed
    })
  )

/** Listens first and looks second, so that a seal between the two is not missed. */
const sealOf = (
  store: Store["Service"],
  queue: TurnQueue.TurnQueue,
  turnId: Ids.TurnId,
  within: Ids.ConversationId | undefined
): Effect.Effect<TurnEvent.TurnEnd, StorageError | TurnStopped.TurnStopped> =>
  Effect.raceFirst(
    queue.sealOf(turnId),
    Effect.suspend((): Effect.Effect<TurnEvent.TurnEnd, StorageError | TurnStopped.TurnStopped> => {
      if (within !== undefined && queue.has({ conversationId: within, turnId })) return Effect.never
      return Effect.flatMap(
        turnOf(store, turnId),
        (turn): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> => {
          if (turn.end !== undefined) return Effect.succeed(turn.end)
          return queue.has(turn) ? Effect.never : Effect.fail(notHere(turnId))
        }
      )
    })
  )

/** A turn's events until now. One that is not sealed must be run here, or nobody would ever hear of its end. */
const eventsOf = (store: Store["Service"], queue: TurnQueue.TurnQueue, turn: Pick<Turn, "conversationId" | "turnId">) =>
  Effect.suspend(() => {
    const isHere = queue.has(turn)
    return Effect.filterOrFail(
      store.turnEvents(turn.turnId),
      (events) => isHere || events.at(-1)?.event.type === "turn-end",
      () => notHere(turn.turnId)
    )
  })

const notHere = (turnId: Ids.TurnId): TurnStopped.TurnStopped =>
  new TurnStopped.TurnStopped({ message: `Turn ${turnId} has stopped, and is not run by this process.` })

/** The `provider-retry` of a turn that is parked, made from its records. */
const waitEventOf = (
  conversation: Conversation,
  turnId: Ids.TurnId,
  records: ReadonlyArray<Record>,
  defaults: Defaults["Service"]
): TurnEvent.ProviderRetry | undefined => {
  const wait = RecordedWait.of(records)
  if (wait === undefined) return undefined
  const { asks, attempt, credential, delayMs, retryAt, failure, target } = wait
  const code = Failure.codeOf(failure)
  const maxAttempts = RetryPolicy.mostRetries(TurnSetting.policyOf(conversation, defaults))
  return {
    type: "provider-retry",
    conversationId: conversation.conversationId,
    turnId,
    attempt,
    delayMs,
    retryAt,
    message: failure.message,
    reason: failure.reason,
    target: target ?? conversation.model,
    ...(credential === undefined ? undefined : { credential }),
    ...(code === undefined ? undefined : { code }),
    ...(maxAttempts === undefined ? undefined : { maxAttempts }),
    ...(asks === undefined ? undefined : { asks })
  }
}

const resultOf = Effect.fnUntraced(function* (store: Store["Service"], end: TurnEvent.TurnEnd) {
  const events = yield* store.turnEvents(end.turnId)
  return { turnId: end.turnId, end, text: Answer.textOf(events.map(({ event }) => event)) }
})

const countsOf = (sessions: Sessions, parking: Parking): TurnCounts => {
  const counts = { running: 0, retrying: parking.size, queued: 0 }
  for (const { hub, turns } of sessions)
    for (const { state } of turns) {
      if (state._tag === "Queued") counts.queued++
      else if (state._tag !== "Ahead") counts[hub.inProgress.retry === undefined ? "running" : "retrying"]++
    }
  return counts
}

const stateOf = (
  conversation: Conversation,
  session: Session | undefined,
  parked: TurnEvent.ProviderRetry | undefined
): Omit<ConversationState.ConversationState, "model"> => {
  const { conversationId, autoRetryEnabled } = conversation
  const retry = parked ?? session?.hub.inProgress.retry
  const turnId = parked?.turnId ?? session?.head?.turnId
  return {
    conversationId,
    status: turnId === undefined ? "idle" : retry === undefined ? "running" : "retrying",
    autoRetryEnabled: session?.autoRetry ?? autoRetryEnabled,
    isRetrying: retry !== undefined,
    queued: session?.turns.flatMap((turn) => (turn.turnId === turnId ? [] : [turn.turnId])) ?? [],
    ...(turnId === undefined ? undefined : { turnId }),
    ...(retry === undefined ? undefined : retryStateOf(retry))
  }
}

const retryStateOf = (event: TurnEvent.ProviderRetry) => {
  const retry = Struct.omit(event, ["type", "conversationId", "turnId", "target", "credential"])
  return { attempt: retry.attempt, retryAt: retry.retryAt, retry }
}
