/**
 * Changes a conversation: its model, and its answers about tools.
 *
 * ConversationChanges.C1. Acceptances wait for a change, and changes for each other: a turn runs on the model that it would resume on after a
 *     restart.
 */
import type { StorageError } from "@holdfast/journal"
import type { ConversationState, Ids } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import type { ConversationNotFound, Conversations, InvalidRequest } from "../conversation/Conversations.ts"
import { knownTarget, type Providers } from "../conversation/Providers.ts"
import type { Session } from "../session/Session.ts"
import type { Sessions } from "../session/Sessions.ts"
import type { Conversation, Store } from "../storage/Store.ts"

/** The parts that changes use. */
export interface Dependencies {
  /** Reads a conversation; fails with `ConversationNotFound` when it does not exist. */
  readonly find: (id: Ids.ConversationId) => Effect.Effect<Conversation, ConversationNotFound | StorageError>
  readonly sessions: Sessions
  readonly store: Pick<Store["Service"], "setModel" | "setToolAnswers">
  readonly providers: Providers["Service"]
}

/** Changes the model, for turns that are accepted from now on. */
export const setModel = (
  dependencies: Dependencies,
  id: Ids.ConversationId,
  model: string,
  { ifOther = false }: NonNullable<Parameters<Conversations["Service"]["setModel"]>[2]> = {}
): Effect.Effect<void, ConversationNotFound | InvalidRequest | StorageError> =>
  Effect.andThen(
    knownTarget(model, dependencies.providers),
    change(dependencies, id, (session, conversation) =>
      Effect.gen(function* () {
        if (ifOther && conversation.model === model) return
        const modelSince = yield* Clock.currentTimeMillis
        yield* dependencies.store.setModel(id, model, modelSince)
        session.changes = { ...session.changes, model, modelSince }
      })
    )
  )

/** Replaces the answers that hold for every call of a tool. */
export const setToolAnswers = (
  dependencies: Dependencies,
  id: Ids.ConversationId,
  answers: ConversationState.ToolAnswers
): Effect.Effect<void, ConversationNotFound | StorageError> => changeToolAnswers(dependencies, id, () => answers)

/** The same, from the answers until now. */
export const changeToolAnswers = (
  dependencies: Dependencies,
  id: Ids.ConversationId,
  answersAfter: (before: ConversationState.ToolAnswers) => ConversationState.ToolAnswers
): Effect.Effect<void, ConversationNotFound | StorageError> =>
  change(dependencies, id, (session, { toolAnswers = {} }) =>
    Effect.suspend(() => {
      const answers = answersAfter(toolAnswers)
      const set = () => {
        session.changes = {
          ...session.changes,
          toolAnswers: Object.keys(answers).length === 0 ? undefined : answers
        }
      }
      return Effect.tap(dependencies.store.setToolAnswers(id, answers), () => Effect.sync(set))
    })
  )

// --- internal

/** ConversationChanges.C1 */
const change = (
  { find, sessions }: Dependencies,
  id: Ids.ConversationId,
  make: (session: Session, conversation: Conversation) => Effect.Effect<void, StorageError>
): Effect.Effect<void, ConversationNotFound | StorageError> =>
  sessions.using(id, (session) =>
    Effect.flatMap(find(id), (read) => {
      const changed = Effect.suspend(() => make(session, session.present(read)))
      return session.inOrder(Effect.uninterruptible(changed))
    })
  )
