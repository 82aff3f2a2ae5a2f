/** Maps refusals of the conversations to the problems that clients receive. */
import type { StorageError } from "@holdfast/journal"
import { defined } from "@holdfast/wire"
import type { TurnStopped } from "@holdfast/kernel"
import { Problem } from "@holdfast/wire/api"
import { Effect } from "effect"
import type * as Conversations from "./Conversations.ts"
import type { TurnNotFound } from "./Conversations.ts"

/** What the conversations refuse. */
export type Refusal =
  | Conversations.ConversationNotFound
  | Conversations.InvalidRequest
  | Conversations.TurnConflict
  | Conversations.ShuttingDown
  | TurnNotFound
  | StorageError
  | TurnStopped.TurnStopped

interface ProblemOf {
  readonly ConversationNotFound: Problem.ConversationNotFound
  readonly InvalidRequest: Problem.InvalidRequest
  readonly TurnConflict: Problem.TurnConflict
  readonly ShuttingDown: Problem.ShuttingDown
  readonly TurnNotFound: Problem.TurnNotFound
  readonly StorageError: Problem.StorageUnavailable
  readonly TurnStopped: Problem.TurnStopped
}

/** Maps an effect's refusal to its problem. */
export const orProblem = <A, E extends Refusal, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ProblemOf[E["_tag"]], R> =>
  // `problemOf` switches over the tag, as the type does; the compiler cannot follow a switch over a type parameter.
  Effect.mapError(effect, (error) => problemOf(error) as ProblemOf[E["_tag"]])

/** The problem of a refusal. */
export const problemOf = (error: Refusal): ProblemOf[keyof ProblemOf] => {
  switch (error._tag) {
    case "ConversationNotFound":
      return new Problem.ConversationNotFound({ conversationId: error.conversationId, detail: error.message })
    case "InvalidRequest":
      return new Problem.InvalidRequest({
        detail: error.message,
        ...defined({ errors: error.faults?.map((fault) => ({ in: "body", ...fault }) as const) })
      })
    case "TurnConflict":
      return new Problem.TurnConflict({ detail: error.message })
    case "ShuttingDown":
      return new Problem.ShuttingDown({ detail: error.message })
    case "TurnNotFound": {
      const { conversationId, message, turnId } = error
      return new Problem.TurnNotFound({
        ...defined({ conversationId }),
        turnId,
        detail: message
      })
    }
    case "StorageError":
      return new Problem.StorageUnavailable({ detail: error.message })
    case "TurnStopped":
      return new Problem.TurnStopped({ detail: error.message })
    default:
      return error satisfies never
  }
}
