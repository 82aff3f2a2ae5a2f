/**
 * Opens or finds the conversation of `holdfast run` and `holdfast rpc` in a service.
 *
 * The same turn id again is the same turn, in its own conversation. A conversation keeps its system prompt, and a turn its model: what the
 * flags give otherwise is refused, by what is in the database.
 */
import type { Ids } from "@holdfast/wire"
import { defined } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { Store } from "../storage/Store.ts"
import type * as NearService from "./client/NearService.ts"
import { Refused } from "./Ended.ts"
import * as RunningService from "./client/RunningService.ts"
import * as RunInput from "./RunInput.ts"

/** The conversation that the flags mean. */
interface Wanted {
  /** Absent: the conversation of the turn, or a new one. */
  readonly conversation: Ids.ConversationId | undefined
  readonly turnId?: Ids.TurnId | undefined
  readonly isSocket?: boolean
}

/** Opens the conversation, or finds it and gives it the model; and the turn, if it was there before. */
export const open = Effect.fnUntraced(function* (
  { config, connect, isNamed, opening, parts }: NearService.Near,
  { conversation: wanted, isSocket, turnId }: Wanted
) {
  const { model, profile } = opening
  const flag = wanted !== undefined ? "--conversation" : turnId !== undefined ? "--turn-id" : undefined
  if (flag !== undefined && config.database.url !== undefined && !isNamed) {
    return yield* Refused.usage(
      `${flag}: with database.url the conversations belong to the runners, and this process has none of them. Send the prompt to a runner: POST /v1/conversations/ID/turns.`
    )
  }
  const system = yield* RunInput.readSystem(opening)
  const client = yield* connect(isSocket)
  const known = turnId === undefined ? undefined : yield* RunningService.unlessMissing(client.turn(turnId).getState)
  const id = wanted ?? known?.conversationId
  if (id === undefined) {
    const options = defined({ model, retry: profile && { profile }, system })
    return { conversation: yield* client.createConversation(options), known }
  }
  const conversation = client.conversation(id)
  const { model: current } = yield* conversation.getState
  if (known !== undefined && known.conversationId !== id) {
    return yield* Refused.failed(
      `Turn ${known.turnId} belongs to conversation ${known.conversationId}, not to ${id}. Choose a new turn id.`
    )
  }
  if (isNamed && system !== undefined) {
    return yield* Refused.usage(`--system: conversation ${id} exists, and keeps its system prompt. Leave the flag out.`)
  }
  const isChecked = system !== undefined || (known !== undefined && model !== undefined && !isNamed)
  const difference = isChecked
    ? yield* Effect.provide(differenceOf({ model, system }, id, known?.turnId), parts.inspection)
    : undefined
  if (difference !== undefined) return yield* Refused.failed(difference)
  if (known === undefined && model !== undefined && model !== current) yield* conversation.setModel(model)
  return { conversation, known }
})

// --- internal

/** What the conversation or the turn has otherwise, as a sentence. */
const differenceOf = Effect.fnUntraced(function* (
  { model, system }: { readonly model: string | undefined; readonly system: string | undefined },
  id: Ids.ConversationId,
  turnId: Ids.TurnId | undefined
) {
  const store = yield* Store
  const conversation = Option.getOrUndefined(yield* store.conversation(id))
  if (system !== undefined && system !== conversation?.system) {
    return `Conversation ${id} has ${conversation?.system === undefined ? "no system prompt" : "another system prompt"}, and it cannot be changed. Leave it out, or begin a new conversation.`
  }
  if (turnId === undefined || model === undefined) return undefined
  const own = Option.getOrUndefined(yield* store.turn(turnId))?.model ?? conversation?.model
  return model === own ? undefined : `Turn ${turnId} is on ${own}, not on ${model}. Leave the model out.`
})
