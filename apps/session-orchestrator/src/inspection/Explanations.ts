/**
 * Explains turns to clients of the service (X9).
 *
 * It reads the database and nothing else: any process that shares it can answer for a turn that another one runs.
 */
import { Ids, type TurnExplanation } from "@holdfast/wire"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Secrets } from "../config/Secrets.ts"
import { ConversationNotFound } from "../conversation/Conversations.ts"
import { Interruptions } from "../storage/Interruptions.ts"
import { Journal } from "../storage/Journal.ts"
import { type StorageError, Store } from "../storage/Store.ts"
import * as Explanation from "./Explanation.ts"

export class TurnNotFound extends Schema.TaggedError<TurnNotFound>()("TurnNotFound", {
  conversationId: Ids.ConversationId,
  turnId: Ids.TurnId
}) {
  override get message(): string {
    return `Conversation ${this.conversationId} has no turn ${this.turnId}.`
  }
}

export class Explanations extends Context.Service<
  Explanations,
  {
    /** Why a turn of a conversation did what it did until now. */
    readonly explain: (
      conversationId: Ids.ConversationId,
      turnId: Ids.TurnId
    ) => Effect.Effect<TurnExplanation.TurnExplanation, ConversationNotFound | TurnNotFound | StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/Explanations") {}

/** Over what is on disk. */
export const layer: Layer.Layer<Explanations, never, Store | Journal | Interruptions | Secrets> = Layer.effect(
  Explanations,
  Effect.gen(function* () {
    const store = yield* Store
    const journal = yield* Journal
    const interruptions = yield* Interruptions
    const { redact } = yield* Secrets
    return {
      explain: Effect.fn("Explanations.explain")(function* (conversationId, turnId) {
        const conversation = Option.getOrUndefined(yield* store.conversation(conversationId))
        if (conversation === undefined) return yield* new ConversationNotFound({ conversationId })
        // The row first: a turn that is sealed after that is explained as it was before.
        const turn = Option.getOrUndefined(yield* store.turn(turnId))
        if (turn?.conversationId !== conversationId) return yield* new TurnNotFound({ conversationId, turnId })
        const stored = yield* store.turnEvents(turnId)
        const records = yield* journal.load(turnId)
        const interruption = Option.getOrUndefined(yield* interruptions.find(turnId))
        const events = stored.map(({ event }) => event)
        return Explanation.of({ turn, conversation, events, records, interruption }, redact)
      })
    }
  })
)
