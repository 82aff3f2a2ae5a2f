/**
 * Deletes conversations for clients: ends their turns, then deletes their rows (X15).
 *
 * - A turn that runs or waits is aborted first, on whichever runner has it. Turns behind it follow one by one.
 * - A call that has succeeded has deleted the conversation, and emptied SQLite's log.
 * - Clients that watch a conversation get its deletion as the end of their streams, on every runner. A runner that does not answer
 *   does not hold up the deletion.
 */
import { StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Context, Duration, Effect, Layer } from "effect"
import { ConversationNotFound, Conversations } from "../conversation/Conversations.ts"
import { Deletions } from "../../storage/Deletions.ts"

/** Deletes conversations of a service. */
export class Removal extends Context.Service<Removal, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/orchestrator/Removal"
) {}

/** Tries to end the turns of a conversation while new ones are accepted. */
const MOST_IDLE = 5

/** How long an owner may take to end its streams. */
const END_LIMIT = Duration.seconds(5)

/** Ends the streams of a deleted conversation, if its owner answers in time. */
export const ended = (ending: Effect.Effect<void, StorageError>): Effect.Effect<void> =>
  Effect.timeoutOption(ending, END_LIMIT).pipe(
    Effect.asVoid,
    Effect.catchCause((cause) => Effect.logDebug("The streams of a deleted conversation were not ended.", cause))
  )

const make = Effect.gen(function* () {
  const conversations = yield* Conversations
  const deletions = yield* Deletions
  return {
    /** Deletes a conversation and everything in it. */
    remove: Effect.fn("Removal.remove")(function* (
      id: Ids.ConversationId
    ): Effect.fn.Return<void, ConversationNotFound | StorageError | TurnStopped.TurnStopped> {
      /** Aborts that found nothing to end: a turn was about to be accepted, or another process runs it. */
      let idle = 0
      for (;;) {
        const outcome = yield* deletions.conversation(id)
        if (outcome === "missing") return yield* new ConversationNotFound({ conversationId: id })
        if (outcome === "deleted") {
          yield* ended(conversations.endStreams(id))
          return yield* deletions.scrub
        }
        if (!(yield* conversations.abort(id))) idle++
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

/** Over the conversations and the storage of the service. */
export const layer: Layer.Layer<Removal, never, Conversations | Deletions> = Layer.effect(Removal, make)
