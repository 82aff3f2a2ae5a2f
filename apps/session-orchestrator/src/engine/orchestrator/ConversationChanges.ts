/**
 * Changes a conversation: its automatic retries, its model, and its answers about tools.
 *
 * - Acceptances wait for a change, and changes for each other: a turn runs on the model that it would resume on after a
 *   restart.
 * - An answer for every call of a tool is on disk before the call has it. A death in between leaves the call without one: the person is asked again.
 * - The other calls of the tool in the same question get the same answer, each in its record. A call that waits for no answer
 *   changes nothing.
 */
import type { StorageError } from "@holdfast/journal"
import type { Command, ConversationState, Ids } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import type { TurnStopped } from "@holdfast/kernel"
import type { ConversationNotFound, Conversations, InvalidRequest } from "../conversation/Conversations.ts"
import { knownTarget } from "../conversation/Providers.ts"
import type { Session } from "../session/Session.ts"
import type { Conversation } from "../../storage/Stored.ts"
import type * as TurnWait from "../pacing/TurnWait.ts"
import * as Commands from "./Commands.ts"
import * as ConversationViews from "./ConversationViews.ts"
import type { Parts } from "./Parts.ts"

/** Carries out a command that changes the conversation. */
export const perform = (
  parts: Parts,
  command: Command.SettingCommand,
  { ifOther = false }: Parameters<Conversations["Service"]["change"]>[1] = {}
): Effect.Effect<void, ConversationNotFound | InvalidRequest | StorageError> => {
  const { find, providers, sessions, store } = parts
  const { conversationId: id } = command
  switch (command.type) {
    case "set-auto-retry":
      return Effect.gen(function* () {
        yield* find(id)
        yield* store.change(id, { autoRetryEnabled: command.enabled })
        sessions.find(id)?.change({ autoRetryEnabled: command.enabled })
      })
    case "set-model": {
      const { model } = command
      const changed = change(parts, id, (session, conversation) =>
        Effect.gen(function* () {
          if (ifOther && conversation.model === model) return
          const modelSince = yield* Clock.currentTimeMillis
          yield* store.change(id, { model, modelSince })
          session.change({ model, modelSince })
        })
      )
      return Effect.andThen(knownTarget(model, providers), changed)
    }
    case "set-tool-answers":
      return changeToolAnswers(parts, id, () => command.toolAnswers)
    default:
      return command satisfies never
  }
}

/** Replaces the answers that hold for every call of a tool, from the answers until now. */
export const changeToolAnswers = (
  parts: Parts,
  id: Ids.ConversationId,
  answersAfter: (before: ConversationState.ToolAnswers) => ConversationState.ToolAnswers
): Effect.Effect<void, ConversationNotFound | StorageError> =>
  change(parts, id, (session, { toolAnswers = {} }) =>
    Effect.suspend(() => {
      const answers = answersAfter(toolAnswers)
      const set = () => session.change({ toolAnswers: Object.keys(answers).length === 0 ? undefined : answers })
      return Effect.tap(parts.store.change(id, { toolAnswers: answers }), () => Effect.sync(set))
    })
  )

// --- internal

/** Changes wait for each other, and acceptances for them. */
const change = (
  { find, sessions }: Parts,
  id: Ids.ConversationId,
  make: (session: Session, conversation: Conversation) => Effect.Effect<void, StorageError>
): Effect.Effect<void, ConversationNotFound | StorageError> =>
  sessions.using(id, (session) =>
    Effect.flatMap(find(id), (read) => {
      const changed = Effect.suspend(() => make(session, session.present(read)))
      return session.inOrder(Effect.uninterruptible(changed))
    })
  )

type Answered = Extract<TurnWait.Command, { readonly type: "answered" }>

/** Records the answer for the tool, and gives it to the other calls of the tool that wait. The answer to the call itself is the caller's. */
export const answerAlways = Effect.fnUntraced(function* (
  parts: Parts,
  conversation: Conversation,
  address: Commands.Address,
  command: Answered
): Effect.fn.Return<void, ConversationNotFound | StorageError | TurnStopped.TurnStopped> {
  const { retry, turnId } = yield* ConversationViews.stateOf(parts, conversation)
  if (address.turnId !== undefined && address.turnId !== turnId) return
  const calls = retry?.asks?.calls ?? []
  const toolName = calls.find(({ toolCallId }) => toolCallId === command.toolCallId)?.toolName
  if (toolName === undefined) return
  const answer = command.approved ? "approve" : "refuse"
  yield* changeToolAnswers(parts, address.conversationId, (before) => ({ ...before, [toolName]: answer }))
  for (const { toolCallId, toolName: name } of calls) {
    if (name !== toolName || toolCallId === command.toolCallId) continue
    const by = { ...command.by, commandId: globalThis.crypto.randomUUID() }
    yield* Commands.steer(parts, { ...address, turnId }, { ...command, toolCallId, by })
  }
})
