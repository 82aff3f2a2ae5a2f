/** Commands for many turns at once, and what became of each. */
import { Command, Ids } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { Conversations } from "./Conversations.ts"

/** Runs the model again after a turn that has ended, as the turn `turnId`, without an attached client. */
export const Retry = Schema.Struct({ ...Command.Retry.fields, turnId: Ids.TurnId })
export type Retry = typeof Retry.Type

/** A command for one turn. It does nothing to another turn of the conversation. */
export interface TurnCommand {
  readonly turnId: Ids.TurnId
  readonly command: Command.Steering | Command.Abort | Retry
}

/** What became of a command. `idle`: there was nothing to do. */
export type CommandOutcome =
  | { readonly outcome: "done" | "idle" }
  | { readonly outcome: "refused"; readonly message: string }

/** Carries out commands one by one, some of them at a time. */
export const each = (
  { abort, retry, steer }: Pick<Conversations["Service"], "abort" | "retry" | "steer">,
  commands: ReadonlyArray<TurnCommand>,
  origin: string
): Effect.Effect<ReadonlyArray<CommandOutcome>> => {
  const one = ({ command, turnId }: TurnCommand): Effect.Effect<boolean, { readonly message: string }> => {
    switch (command.type) {
      case "abort":
        return abort(command.conversationId, turnId)
      case "retry":
        return Effect.as(retry(command.conversationId, { turnId: command.turnId, isSubmitted: true }), true)
      default:
        return steer(command, origin, turnId)
    }
  }
  return Effect.forEach(
    commands,
    (command) =>
      Effect.match(one(command), {
        onFailure: refused,
        onSuccess: (isDone): CommandOutcome => ({ outcome: isDone ? "done" : "idle" })
      }),
    { concurrency: AT_ONCE }
  )
}

/** The outcome of a command that failed. */
export const refused = ({ message }: { readonly message: string }): CommandOutcome => ({ outcome: "refused", message })

// --- internal

/** Most pages in one go, so that their reads and their commits are shared. Each has its conversation in memory meanwhile. */
const AT_ONCE = 64
