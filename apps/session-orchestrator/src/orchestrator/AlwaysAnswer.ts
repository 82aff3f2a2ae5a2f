/**
 * Takes a person's answer about a tool call that holds for every call of the tool in the conversation.
 *
 * AlwaysAnswer.A1. The answer is on disk before the call has it. A death in between leaves the call without one: the person is asked again.
 * AlwaysAnswer.A2. The other calls of the tool in the same question get the same answer, each in its record. A call that waits for no answer
 *     changes nothing.
 */
import type { StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import { Effect } from "effect"
import type { ConversationNotFound } from "../conversation/Conversations.ts"
import type * as TurnWait from "../pacing/TurnWait.ts"
import type { Conversation } from "../storage/Store.ts"
import * as Commands from "./Commands.ts"
import * as ConversationChanges from "./ConversationChanges.ts"
import * as ConversationViews from "./ConversationViews.ts"

/** The parts that it uses. */
export interface Dependencies extends ConversationChanges.Dependencies {
  readonly commands: Commands.Dependencies
  readonly views: ConversationViews.Dependencies
}

type Answered = Extract<TurnWait.Command, { readonly type: "answered" }>

/** Records the answer for the tool, and gives it to the other calls of the tool that wait. The answer to the call itself is the caller's. */
export const given: (
  dependencies: Dependencies,
  conversation: Conversation,
  address: Commands.Address,
  command: Answered
) => Effect.Effect<void, ConversationNotFound | StorageError | TurnStopped.TurnStopped> = Effect.fnUntraced(
  function* (dependencies, conversation, address, command) {
    const { retry, turnId } = yield* ConversationViews.stateOf(dependencies.views, conversation)
    if (address.turnId !== undefined && address.turnId !== turnId) return
    const calls = retry?.asks?.calls ?? []
    const toolName = calls.find(({ toolCallId }) => toolCallId === command.toolCallId)?.toolName
    if (toolName === undefined) return // AlwaysAnswer.A2
    const answer = command.approved ? "approve" : "refuse"
    yield* ConversationChanges.changeToolAnswers(dependencies, address.conversationId, (before) => ({
      ...before,
      [toolName]: answer
    }))
    for (const { toolCallId, toolName: name } of calls) {
      if (name !== toolName || toolCallId === command.toolCallId) continue
      const by = { ...command.by, commandId: globalThis.crypto.randomUUID() }
      yield* Commands.steer(dependencies.commands, { ...address, turnId }, { ...command, toolCallId, by })
    }
  }
)
