/**
 * `Conversations` in this process.
 *
 * O1. A turn is on disk before anybody is told that it was accepted (C2).
 * O2. A turn that was accepted is run by a fiber of the service: a client that goes away takes nothing with it.
 * O3. A turn that the last process did not seal is queued again at start, in the order of acceptance.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Profile } from "@holdfast/policy"
import { type Command, type ConversationState, Ids, Message, Target, type TurnEvent } from "@holdfast/wire"
import { Clock, Deferred, Effect, Layer, Option, Result, Stream } from "effect"
import * as JournalCheckpoint from "../durable/JournalCheckpoint.ts"
import { Timer } from "../durable/Timer.ts"
import { Journal } from "../storage/Journal.ts"
import { type Conversation, type StorageError, Store, type Turn } from "../storage/Store.ts"
import * as Acceptance from "./Acceptance.ts"
import { ConversationNotFound, Conversations, type CreateOptions, InvalidRequest } from "./Conversations.ts"
import { Defaults } from "./Defaults.ts"
import { Providers } from "./Providers.ts"
import { Sessions } from "./Sessions.ts"
import * as TurnQueue from "./TurnQueue.ts"
import * as TurnRunner from "./TurnRunner.ts"
import * as Watching from "./Watching.ts"

type Requirements = Store | Journal | Timer | Providers | Defaults

/** Runs turns for as long as its scope is open; those that it does not get to seal are left for the next process. */
export const layer: Layer.Layer<Conversations, StorageError, Requirements> = Layer.suspend(() =>
  make({ takesUp: true })
)

/** The same for a process that runs a turn of its own, and leaves alone what others have not sealed. */
export const layerGuest: Layer.Layer<Conversations, StorageError, Requirements> = Layer.suspend(() =>
  make({ takesUp: false })
)

// --- internal

const make = ({ takesUp }: { readonly takesUp: boolean }) =>
  Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const store = yield* Store
      const journal = yield* Journal
      const timer = yield* Timer
      const providers = yield* Providers
      const defaults = yield* Defaults
      const sessions = new Sessions()
      const down = yield* Deferred.make<void>()
      const stopping = Deferred.await(down)
      const queue = yield* TurnQueue.make({
        store,
        providers,
        defaults,
        sessions,
        stopping,
        sleepUntil: timer.sleepUntil,
        checkpointOf: (turnId) =>
          JournalCheckpoint.make(journal, turnId, (append) => TurnRunner.untilItWorks(append, turnId, stopping))
      })
      yield* Effect.addFinalizer(() => Deferred.succeed(down, undefined))
      const acceptance: Acceptance.Dependencies = { store, sessions, queue, isStopping: Deferred.isDone(down) }
      if (takesUp) yield* Acceptance.takeUp(acceptance)

      const find = (id: Ids.ConversationId): Effect.Effect<Conversation, ConversationNotFound | StorageError> =>
        Effect.flatMap(
          store.conversation(id),
          Option.match({
            onNone: () => Effect.fail(new ConversationNotFound({ conversationId: id })),
            onSome: Effect.succeed
          })
        )
      const command =
        (act: (session: NonNullable<ReturnType<Sessions["find"]>>) => Effect.Effect<boolean>) =>
        (id: Ids.ConversationId) =>
          Effect.flatMap(find(id), () => {
            const session = sessions.find(id)
            return session === undefined ? Effect.succeed(false) : act(session)
          })

      return Conversations.of({
        create: (options) =>
          Effect.gen(function* () {
            const conversation = yield* conversationOf(options, defaults, providers)
            yield* store.createConversation(conversation)
            return conversation.conversationId
          }),
        prompt: (id, { prompt, turnId }) =>
          Effect.flatMap(find(id), (conversation) => Acceptance.prompt(acceptance, conversation, prompt, turnId)),
        retry: (id, { turnId }) =>
          Effect.flatMap(find(id), (conversation) => Acceptance.retry(acceptance, conversation, turnId)),
        result: (turnId) => Effect.flatMap(sealOf(store, queue, turnId), (end) => resultOf(store, end)),
        watchTurn: (turnId) =>
          Stream.unwrap(
            Effect.gen(function* () {
              const turn = yield* turnOf(store, turnId)
              const conversation = yield* Effect.map(store.conversation(turn.conversationId), Option.getOrThrow)
              const session = yield* sessions.hold(conversation)
              return Watching.watch(session, Stream.fromIterableEffect(store.turnEvents(turnId)))
            })
          ).pipe(Watching.ofTurn(turnId)),
        watch: (id, after) =>
          Stream.unwrap(
            Effect.gen(function* () {
              const session = yield* sessions.hold(yield* find(id))
              return Watching.watch(session, store.events(id, after))
            })
          ),
        // P14: cancelling the retry is part of aborting; the kernel closes the chain before the seal.
        abort: command((session) => session.abort()),
        steer: (steering, origin) =>
          Effect.gen(function* () {
            yield* find(steering.conversationId)
            const wake = yield* wakeOf(steering, origin, providers)
            return sessions.find(steering.conversationId)?.steer(wake) ?? false
          }),
        setAutoRetry: (id, enabled) =>
          Effect.gen(function* () {
            yield* find(id)
            yield* store.setAutoRetry(id, enabled)
            const session = sessions.find(id)
            if (session !== undefined) session.isAutoRetryEnabled = enabled
          }),
        state: (id) => Effect.map(find(id), (conversation) => stateOf(conversation, sessions)),
        messages: (id) => Effect.andThen(find(id), store.messages(id))
      })
    })
  )

const conversationOf = Effect.fnUntraced(function* (
  { model, system, retry }: CreateOptions,
  defaults: Defaults["Service"],
  providers: Providers["Service"]
): Effect.fn.Return<Conversation, InvalidRequest> {
  const name = model ?? Target.format(defaults.model)
  yield* knownTarget(name, providers)
  const settings = Profile.decode(retry ?? {})
  if (Result.isFailure(settings)) return yield* new InvalidRequest({ message: `retry: ${settings.failure.message}` })
  return {
    conversationId: Ids.ConversationId.make(globalThis.crypto.randomUUID()),
    model: name,
    system,
    retry,
    autoRetryEnabled: settings.success.enabled ?? defaults.retry.enabled ?? true,
    createdAt: yield* Clock.currentTimeMillis
  }
})

/** The command as the wait takes it, and as it stands in the record. */
const wakeOf = (
  steering: Command.Steering,
  origin: string,
  providers: Providers["Service"]
): Effect.Effect<RetryStrategy.Wake, InvalidRequest> => {
  const by = { commandId: steering.commandId ?? globalThis.crypto.randomUUID(), origin }
  switch (steering.type) {
    case "retry-now":
      return Effect.succeed({ type: "now", by })
    case "abort-retry":
      return Effect.succeed({ type: "cancelled", by })
    case "wait-until":
      return Effect.succeed({ type: "until", until: steering.until, by })
    case "extend-budget":
      return Effect.succeed({ type: "extended", byMs: steering.byMs, by })
    case "switch-target":
      return Effect.map(knownTarget(steering.model, providers), (target) => ({ type: "switched", target, by }))
    default:
      return steering satisfies never
  }
}

const knownTarget = (name: string, providers: Providers["Service"]): Effect.Effect<Target.Target, InvalidRequest> => {
  const target = Target.parse(name)
  return target !== undefined && providers.names.includes(target.provider)
    ? Effect.succeed(target)
    : Effect.fail(
        new InvalidRequest({
          message: `model: expected "provider/model" with a provider of the configuration (${providers.names.join(", ")}), got "${name}".`
        })
      )
}

/** Callers have the id from an acceptance, so the turn is there. */
const turnOf = (store: Store["Service"], turnId: Ids.TurnId): Effect.Effect<Turn, StorageError> =>
  Effect.flatMap(
    store.turn(turnId),
    Option.match({
      onNone: () => Effect.die(new Error(`turn ${turnId} was never accepted`)),
      onSome: Effect.succeed
    })
  )

/** Asks the queue first: a turn that leaves it has its seal on disk. */
const sealOf = (
  store: Store["Service"],
  queue: TurnQueue.TurnQueue,
  turnId: Ids.TurnId
): Effect.Effect<TurnEvent.TurnEnd, StorageError> =>
  Effect.suspend(
    () =>
      queue.sealOf(turnId) ??
      Effect.flatMap(turnOf(store, turnId), ({ end }) => (end === undefined ? Effect.never : Effect.succeed(end)))
  )

const resultOf = Effect.fnUntraced(function* (store: Store["Service"], end: TurnEvent.TurnEnd) {
  const events = yield* store.turnEvents(end.turnId)
  const answer = events
    .map(({ event }) => event)
    .findLast((event) => event.type === "message" && event.message.role === "assistant")
  return { turnId: end.turnId, end, text: answer?.type === "message" ? Message.textOf(answer.message) : "" }
})

const stateOf = (conversation: Conversation, sessions: Sessions): ConversationState.ConversationState => {
  const { conversationId, model, autoRetryEnabled } = conversation
  const session = sessions.find(conversationId)
  const retry = session?.hub.inProgress.retry
  const running = session?.running
  return {
    conversationId,
    status: running === undefined ? "idle" : retry === undefined ? "running" : "retrying",
    model,
    autoRetryEnabled: session?.isAutoRetryEnabled ?? autoRetryEnabled,
    isRetrying: retry !== undefined,
    queued: session?.queue.map(({ turnId }) => turnId) ?? [],
    ...(running === undefined ? undefined : { turnId: running.turn.turnId }),
    ...(retry === undefined ? undefined : waitOf(retry))
  }
}

const waitOf = ({ attempt, retryAt, delayMs, message, reason, code, maxAttempts }: TurnEvent.ProviderRetry) => ({
  attempt,
  retryAt,
  retry: {
    attempt,
    retryAt,
    delayMs,
    message,
    reason,
    ...(code === undefined ? undefined : { code }),
    ...(maxAttempts === undefined ? undefined : { maxAttempts })
  }
})
