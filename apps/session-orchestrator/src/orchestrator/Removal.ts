/**
 * Deletes conversations for clients: ends their turns, then deletes their rows (X15).
 *
 * Removal.R1. A turn that runs or waits is aborted first, on whichever runner has it. Turns behind it follow one by one.
 * Removal.R2. A call that has succeeded has deleted the conversation, and emptied SQLite's log.
 */
import { StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Layer } from "effect"
import { ConversationNotFound, Conversations } from "../conversation/Conversations.ts"
import { Deletions } from "../storage/Deletions.ts"

/** Deletes conversations of a service. */
export class Removal extends Context.Service<
  Removal,
  {
    /** Deletes a conversation and everything in it. */
    readonly remove: (
      id: Ids.ConversationId
    ) => Effect.Effect<void, ConversationNotFound | StorageError | TurnStopped.TurnStopped>
  }
>()("@holdfast/session-orchestrator/orchestrator/Removal") {}

/** Tries to end the turns of a conversation while new ones are accepted. */
const MOST_IDLE = 5

/** Over the conversations and the storage of the service. */
export const layer: Layer.Layer<Removal, never, Conversations | Deletions> = Layer.effect(
  Removal,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const deletions = yield* Deletions
    return {
      remove: Effect.fn("Removal.remove")(function* (id) {
        /** Aborts that found nothing to end: a turn was about to be accepted, or another process runs it. */
        let idle = 0
        for (;;) {
          const outcome = yield* deletions.conversation(id)
          if (outcome === "missing") return yield* new ConversationNotFound({ conversationId: id })
          if (outcome === "deleted") return yield* deletions.scrub
          if (!(yield* conversations.abort(id))) idle++ // Removal.R1
          if (idle > MOST_IDLE) {
            return yield* new StorageError({
              message: `Conversation ${id} has a turn that another process runs, and was not deleted. Wait for the turn's end, and try again.`,
              concerns: "one"
            })
          }
        }
      })
    }
  })
)
