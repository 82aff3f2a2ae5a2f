/**
 * Submits turns: each opens a conversation of its own and hands in its prompt, as one call (X15).
 *
 * - A turn id is a key. The same submission again adds nothing. A submission that broke off in the middle is completed.
 * - The same id with another prompt or other settings is refused: its answer would be to another question.
 *
 * A turn whose client chose its id names its conversation as well, so a second call finds what the first one left.
 */
import type { StorageError } from "@holdfast/journal"
import { Ids, type Prompt } from "@holdfast/wire"
import { Context, Effect, Layer, Option, Result } from "effect"
import { isDeepStrictEqual } from "node:util"
import { Conversations, type CreateOptions, TurnConflict } from "../conversation/Conversations.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Store } from "../../storage/Store.ts"
import type { Conversation } from "../../storage/Stored.ts"
import * as NewConversation from "./NewConversation.ts"
import * as NewId from "../../storage/NewId.ts"

/** What a turn is submitted with. */
interface Submission extends Omit<CreateOptions, "conversationId"> {
  readonly prompt: Prompt.Prompt
  /** Otherwise a new id. */
  readonly turnId?: Ids.TurnId | undefined
  /** An address that gets the turn's end; it was checked. */
  readonly webhook?: string | undefined
}

/** Accepts turns with their conversations. */
export class Submissions extends Context.Service<Submissions, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/orchestrator/Submissions"
) {}

const make = Effect.gen(function* () {
  const conversations = yield* Conversations
  const store = yield* Store
  const defaults = yield* Defaults

  const open = ({ labels, model, retry, system, title, tools }: Submission, conversationId?: Ids.ConversationId) =>
    conversations.create({ conversationId, labels, model, system, retry, title, tools })

  /** The conversation of a turn that was submitted before, as a whole or in part. */
  const conversationFor = Effect.fnUntraced(function* (submission: Submission, turnId: Ids.TurnId) {
    const turn = Option.getOrUndefined(yield* store.turn(turnId))
    const own = Ids.ConversationId.make(turnId)
    const id = turn?.conversationId ?? own
    const conversation = Option.getOrUndefined(yield* store.conversation(id))
    if (conversation === undefined) return { conversationId: yield* open(submission, own), isNew: true }
    const difference = turn === undefined ? yield* takenBy(store, id) : undefined
    const first = turn?.model === undefined ? conversation : { ...conversation, model: turn.model }
    const refusal = difference ?? differenceOf(submission, first, defaults)
    if (refusal !== undefined) {
      return yield* new TurnConflict({ message: `Turn ${turnId} cannot be submitted: ${refusal} Choose another id.` })
    }
    return { conversationId: id, isNew: turn === undefined }
  })

  return {
    /** Submits a turn. When it has succeeded the turn is on disk and will run; `isNew`: it was not there before. */
    submit: Effect.fn("Submissions.submit")(function* (submission: Submission) {
      const { labels, prompt, turnId, webhook } = submission
      const { conversationId, isNew } =
        turnId === undefined
          ? { conversationId: yield* open(submission), isNew: true }
          : yield* conversationFor(submission, turnId)
      return {
        turnId: yield* conversations.prompt(conversationId, {
          prompt,
          labels,
          webhook,
          turnId: turnId ?? NewId.turn(),
          isSubmitted: true
        }),
        conversationId,
        isNew
      }
    })
  }
})

/** Over the conversations and the store of the service. */
export const layer: Layer.Layer<Submissions, never, Conversations | Store | Defaults> = Layer.effect(Submissions, make)

// --- internal

/** The refusal of a conversation that has turns of its own; a submission that broke off left none. */
const takenBy = (store: Store["Service"], id: Ids.ConversationId): Effect.Effect<string | undefined, StorageError> =>
  Effect.map(store.lastTurn(id), (last) =>
    Option.isNone(last) ? undefined : `conversation ${id} exists and has other turns.`
  )

/** What an earlier submission of the same id had that this one has not. Absent settings were the configuration's then. */
const differenceOf = (
  submission: Submission,
  conversation: Conversation,
  defaults: Defaults["Service"]
): string | undefined => {
  if (submission.model !== undefined && submission.model !== conversation.model) {
    return `it was submitted before, for ${conversation.model}.`
  }
  const system = NewConversation.systemPromptOf(submission.system, defaults)
  if (Result.isFailure(system)) return system.failure
  if (system.success !== conversation.system) return "it was submitted before, with another system prompt."
  if (!isDeepStrictEqual(submission.tools, conversation.tools)) return "it was submitted before, with other tools."
  if (!isDeepStrictEqual(submission.retry, conversation.retry)) {
    return "it was submitted before, with other retry settings."
  }
  return undefined
}
