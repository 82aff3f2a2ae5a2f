/** The parts of an orchestrator, of which each call takes those that it needs. */
import { StorageError } from "@holdfast/journal"
import { DatabaseWait } from "@holdfast/journal/sql"
import type { Ids } from "@holdfast/wire"
import { Deferred, Effect, Option } from "effect"
import { Condition } from "../../base/system/Condition.ts"
import type { Store } from "../../storage/Store.ts"
import type { Conversation } from "../../storage/Stored.ts"
import { Tenancy } from "../../storage/sqlite/Tenancy.ts"
import { ConversationNotFound } from "../conversation/Conversations.ts"
import { Sessions } from "../session/Session.ts"
import * as TurnServices from "../turn/TurnServices.ts"
import * as TurnQueue from "./TurnQueue.ts"

/** Collects the parts. The turns stop, unsealed, with the scope. */
export const collect = Effect.gen(function* () {
  const condition = yield* Condition
  const down = yield* Deferred.make<void>()
  const services = yield* TurnServices.collect(new Sessions(), down)
  const queue = yield* TurnQueue.make(services)
  yield* Effect.addFinalizer(() => Deferred.succeed(down, undefined))
  const { defaults, sessions, store } = services
  const started = startDone(condition)
  return {
    ...services,
    condition,
    queue,
    parking: queue.parking,
    /** Reads a conversation; fails with `ConversationNotFound` when it does not exist. */
    find: finder(sessions, store, started),
    /** Waits until the turns that the last process left unfinished are taken up. */
    started,
    /** Succeeds when the service shuts down. */
    stopping: Deferred.await(down),
    tenancy: yield* Tenancy,
    /** Receivers of every turn's end (`Outbox`). */
    receivers: defaults.receivers ?? [],
    /** Conversations with a turn that may be on disk, although its acceptance has failed (Acceptance.A4). */
    doubtful: new Set<Ids.ConversationId>()
  }
})

/** The parts of an orchestrator. */
export type Parts = Effect.Success<typeof collect>

// --- internal

/** Finds a conversation: in its session, or in the store once the start is done. */
const finder =
  (sessions: Sessions, store: Store["Service"], started: Effect.Effect<void, StorageError>) =>
  (conversationId: Ids.ConversationId): Effect.Effect<Conversation, ConversationNotFound | StorageError> =>
    Effect.suspend(() => {
      const known = sessions.find(conversationId)?.conversation
      const found =
        known === undefined
          ? Effect.andThen(started, store.conversation(conversationId))
          : Effect.succeed(Option.some(known))
      return Effect.flatMap(
        found,
        Option.match({
          onNone: () => Effect.fail(new ConversationNotFound({ conversationId })),
          onSome: (conversation) => Effect.succeed(sessions.find(conversationId)?.present(conversation) ?? conversation)
        })
      )
    })

/** Waits until the start is done: as long as for a silent database. Then it fails with the error of the start. */
const startDone = ({ isStarted, started, starting }: Condition["Service"]): Effect.Effect<void, StorageError> =>
  Effect.suspend(() =>
    isStarted()
      ? Effect.void
      : Effect.timeoutOrElse(started, {
          duration: DatabaseWait.SILENCE_LIMIT,
          orElse: () =>
            Effect.flatMap(starting, (work) =>
              work === undefined ? Effect.void : Effect.fail(new StorageError({ message: work }))
            )
        })
  )
