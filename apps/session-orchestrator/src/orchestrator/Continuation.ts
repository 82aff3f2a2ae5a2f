/**
 * Accepts a prompt for a turn or a conversation that may already exist, or resumes a conversation's turns.
 *
 * Continuation.C1. The same turn id again is the same turn, in its own conversation.
 * Continuation.C2. A turn is accepted only if it can run next: no other turn of its conversation is unsealed.
 *
 * The caller owns the database (`Tenancy.layerOwner`), so no service runs a turn of the same conversation meanwhile.
 */
import type { Ids, Prompt } from "@holdfast/wire"
import { Effect, Option } from "effect"
import { type Conversation, Store, type Turn } from "../storage/Store.ts"
import * as Tenancy from "../storage/sqlite/Tenancy.ts"
import { ConversationNotFound, Conversations, InvalidRequest, TurnConflict } from "../conversation/Conversations.ts"

/** The turn that is wanted, and the conversation that it should have. */
export interface Wanted {
  readonly prompt: Prompt.Prompt
  /** If absent: the conversation of the turn, or a new one. */
  readonly conversationId: Ids.ConversationId | undefined
  readonly turnId: Ids.TurnId | undefined
  /** The system prompt of a new conversation; an existing conversation must have the same. */
  readonly system: string | undefined
  /** `provider/model`, if a model was given; an existing conversation gets it for its new turns, an existing turn must have the same. */
  readonly model: string | undefined
}

/** A turn on disk that runs here, or has ended. */
export interface Accepted {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
}

/**
 * Accepts the turn, or creates its conversation first. Fails with `ConversationNotFound`, `TurnConflict` or `InvalidRequest` if the
 * existing turn or conversation does not fit.
 */
export const accept = Effect.fnUntraced(function* (wanted: Wanted) {
  const conversations = yield* Conversations
  const store = yield* Store
  const tenancy = yield* Tenancy.Tenancy
  const { prompt, system, turnId } = wanted
  const known = turnId === undefined ? undefined : Option.getOrUndefined(yield* store.turn(turnId))
  const existing = wanted.conversationId ?? known?.conversationId
  if (existing === undefined) {
    const conversationId = yield* conversations.create({ system })
    return { conversationId, turnId: yield* conversations.prompt(conversationId, { prompt, turnId }) }
  }
  const conversation = Option.getOrUndefined(yield* store.conversation(existing))
  if (conversation === undefined) return yield* new ConversationNotFound({ conversationId: existing })
  if (known !== undefined && known.conversationId !== existing) {
    return yield* new TurnConflict({
      message: `Turn ${known.turnId} belongs to conversation ${known.conversationId}, not to ${existing}. Choose a new turn id.`
    })
  }
  const difference = differenceOf(wanted, conversation) ?? otherModel(wanted, conversation, known)
  if (difference !== undefined) return yield* new InvalidRequest({ message: difference })
  const [next] = known?.end === undefined ? yield* store.unsealedTurnsOf(existing) : []
  if (next !== undefined && (next.turnId !== turnId || tenancy.isElsewhere(next.turnId))) {
    return yield* new TurnConflict({
      message: tenancy.isElsewhere(next.turnId)
        ? runsElsewhere(next)
        : `Turn ${next.turnId} of conversation ${existing} has not ended, and no process runs it. Start the service, which takes it up, or give its id and its prompt again.`
    })
  }
  if (known === undefined) yield* setModel(wanted, conversation)
  return { conversationId: existing, turnId: yield* conversations.prompt(existing, { prompt, turnId }) }
})

/**
 * Resumes the unsealed turns of a conversation, in the order of their acceptance. Fails with `ConversationNotFound`, with `InvalidRequest` where the
 * conversation has another system prompt, and with `TurnConflict` while another process runs one of the turns.
 */
export const resume = Effect.fnUntraced(function* (
  wanted: Pick<Wanted, "system" | "model"> & { readonly conversationId: Ids.ConversationId }
) {
  const conversations = yield* Conversations
  const store = yield* Store
  const tenancy = yield* Tenancy.Tenancy
  const { conversationId } = wanted
  const conversation = Option.getOrUndefined(yield* store.conversation(conversationId))
  if (conversation === undefined) return yield* new ConversationNotFound({ conversationId })
  const difference = differenceOf(wanted, conversation)
  if (difference !== undefined) return yield* new InvalidRequest({ message: difference })
  const turns = yield* store.unsealedTurnsOf(conversationId)
  const elsewhere = turns.find(({ turnId }) => tenancy.isElsewhere(turnId))
  if (elsewhere !== undefined) return yield* new TurnConflict({ message: runsElsewhere(elsewhere) })
  yield* setModel(wanted, conversation)
  for (const { turnId } of turns) {
    // The same turn again is the same turn.
    const prompt = yield* store.prompt(turnId)
    yield* prompt === undefined
      ? conversations.retry(conversationId, { turnId })
      : conversations.prompt(conversationId, { prompt, turnId })
  }
})

// --- internal

const runsElsewhere = ({ conversationId, turnId }: Accepted): string =>
  `Turn ${turnId} of conversation ${conversationId} has not ended: another process runs it. Wait for its end, and try again.`

/** A difference between the requested conversation and the existing one, as a sentence; `undefined` if there is none. */
const differenceOf = (
  { system }: Pick<Wanted, "system">,
  { conversationId, ...conversation }: Conversation
): string | undefined => {
  if (system !== undefined && system !== conversation.system) {
    return `Conversation ${conversationId} has ${conversation.system === undefined ? "no system prompt" : "another system prompt"}, and it cannot be changed. Leave it out, or begin a new conversation.`
  }
  return undefined
}

/** A turn keeps the model that it was accepted with. */
const otherModel = (
  { model }: Pick<Wanted, "model">,
  conversation: Conversation,
  known: Turn | undefined
): string | undefined => {
  if (known === undefined || model === undefined) return undefined
  const own = known.model ?? conversation.model
  return model === own ? undefined : `Turn ${known.turnId} is on ${own}, not on ${model}. Leave the model out.`
}

const setModel = Effect.fnUntraced(function* ({ model }: Pick<Wanted, "model">, conversation: Conversation) {
  const conversations = yield* Conversations
  if (model !== undefined && model !== conversation.model)
    yield* conversations.setModel(conversation.conversationId, model)
})
