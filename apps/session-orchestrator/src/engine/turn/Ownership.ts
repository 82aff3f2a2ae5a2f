/**
 * The port to the ownership of conversations: whether this process runs their turns. By default it runs all of them.
 *
 * A runner that shares its database runs those of its shards, and may lose one at any time.
 */
import type { Toolbox } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Context, Effect } from "effect"

/** The ownership of conversations by this process. */
export interface Ownership {
  /** Whether turns of the conversation may begin to run, as far as this process knows. */
  readonly isOurs: (id: Ids.ConversationId) => boolean
  /** Waits until that is sure. For a conversation that was lost it never returns: its turn is interrupted. Absent: it is always sure. */
  readonly sure?: (id: Ids.ConversationId) => Effect.Effect<void>
}

/** The ownership of this process. */
export const Ownership = Context.Reference<Ownership>("@holdfast/session-orchestrator/turn/Ownership", {
  defaultValue: () => ({ isOurs: () => true })
})

/** Tools of a conversation that run only while its ownership is sure: the next owner may have recorded that an outcome is unknown. */
export const toolsOf = (
  { sure }: Ownership,
  id: Ids.ConversationId,
  toolbox: Toolbox.Toolbox["Service"]
): Toolbox.Toolbox["Service"] =>
  sure === undefined
    ? toolbox
    : {
        // Other ones from one step to the next.
        get definitions() {
          return toolbox.definitions
        },
        run: (...call) => Effect.andThen(sure(id), toolbox.run(...call))
      }
