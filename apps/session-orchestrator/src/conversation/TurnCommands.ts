/** Commands for many turns at once, and what became of each. */
import type { Command, Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { Conversations } from "./Conversations.ts"

/** A command for one turn. It does nothing to another turn of the conversation. */
export interface TurnCommand {
  readonly turnId: Ids.TurnId
  readonly command: Command.Steering | Command.Abort
}

/** What became of a command. `idle`: there was nothing to do. */
export type CommandOutcome =
  | { readonly outcome: "done" | "idle" }
  | { readonly outcome: "refused"; readonly message: string }

/** Carries out commands one by one, some of them at a time. */
export const each = (
  { abort, steer }: Pick<Conversations["Service"], "abort" | "steer">,
  commands: ReadonlyArray<TurnCommand>,
  origin: string
): Effect.Effect<ReadonlyArray<CommandOutcome>> =>
  Effect.forEach(
    commands,
    ({ command, turnId }) =>
      Effect.match(command.type === "abort" ? abort(command.conversationId, turnId) : steer(command, origin, turnId), {
        onFailure: refused,
        onSuccess: (isDone): CommandOutcome => ({ outcome: isDone ? "done" : "idle" })
      }),
    { concurrency: AT_ONCE }
  )

/** The outcome of a command that failed. */
export const refused = ({ message }: { readonly message: string }): CommandOutcome => ({ outcome: "refused", message })

// --- internal

/** Most pages in one go, so that their reads and their commits are shared. Each has its conversation in memory meanwhile. */
const AT_ONCE = 64
