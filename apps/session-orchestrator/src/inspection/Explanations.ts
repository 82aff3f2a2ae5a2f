/** Explains turns to clients of the service (rule X9). */
import type { Interruptions, StorageError } from "@holdfast/journal"
import type { Ids, TurnExplanation } from "@holdfast/wire"
import { Context, Effect, Layer, Option } from "effect"
import { Secrets } from "../redaction/Secrets.ts"
import { ConversationNotFound } from "../conversation/Conversations.ts"
import type { Journal } from "../storage/EventJournal.ts"
import { Store } from "../storage/Store.ts"
import * as StoredTurn from "./StoredTurn.ts"
import * as Explanation from "./Explanation.ts"
import { TurnNotFound } from "../conversation/TurnNotFound.ts"

/** Explains stored turns. */
export class Explanations extends Context.Service<
  Explanations,
  {
    /** Explains a turn of a conversation until now. */
    readonly explain: (
      conversationId: Ids.ConversationId,
      turnId: Ids.TurnId
    ) => Effect.Effect<TurnExplanation.TurnExplanation, ConversationNotFound | TurnNotFound | StorageError>
  }
>()("@holdfast/session-orchestrator/inspection/Explanations") {}

/** Explains turns from the stored data. */
export const layer: Layer.Layer<Explanations, never, Store | Journal | Interruptions.Interruptions | Secrets> =
  Layer.effect(
    Explanations,
    Effect.gen(function* () {
      const store = yield* Store
      const read = yield* StoredTurn.reader
      const { redact } = yield* Secrets
      return {
        explain: Effect.fn("Explanations.explain")(function* (conversationId, turnId) {
          const evidence = Option.getOrUndefined(yield* read(turnId))
          if (evidence?.turn.conversationId === conversationId) return Explanation.of(evidence, redact)
          const conversation = yield* store.conversation(conversationId)
          return yield* Option.isNone(conversation)
            ? new ConversationNotFound({ conversationId })
            : new TurnNotFound({ conversationId, turnId })
        })
      }
    })
  )
