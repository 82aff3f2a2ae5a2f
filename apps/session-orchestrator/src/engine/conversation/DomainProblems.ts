/** Maps refusals of the conversations to the problems that clients receive. */
import type { StorageError } from "@holdfast/journal"
import { defined } from "@holdfast/wire"
import type { TurnStopped } from "@holdfast/kernel"
import { Problem } from "@holdfast/wire/api"
import { Effect } from "effect"
import type * as Conversations from "./Conversations.ts"

/** What the conversations refuse. */
export type Refusal = Parameters<(typeof PROBLEMS)[keyof typeof PROBLEMS]>[0]

type ProblemOf = { readonly [Tag in keyof typeof PROBLEMS]: ReturnType<(typeof PROBLEMS)[Tag]> }

/** Maps an effect's refusal to its problem. */
export const orProblem = <A, E extends Refusal, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, ProblemOf[E["_tag"]], R> => Effect.mapError(effect, problemOf)

/** The problem of a refusal. */
export const problemOf = <E extends Refusal>(error: E): ProblemOf[E["_tag"]] =>
  // The entry of its tag takes the refusal; the compiler cannot follow that for a type parameter.
  (PROBLEMS[error._tag] as (error: Refusal) => ProblemOf[E["_tag"]])(error)

// --- internal

/** By the tag of the refusal. */
const PROBLEMS = {
  ConversationNotFound: ({ conversationId, message }: Conversations.ConversationNotFound) =>
    new Problem.ConversationNotFound({ conversationId, detail: message }),
  InvalidRequest: ({ faults, message }: Conversations.InvalidRequest) =>
    new Problem.InvalidRequest({
      detail: message,
      ...defined({ errors: faults?.map((fault) => ({ in: "body", ...fault }) as const) })
    }),
  TurnConflict: ({ message }: Conversations.TurnConflict) => new Problem.TurnConflict({ detail: message }),
  ShuttingDown: ({ message }: Conversations.ShuttingDown) => new Problem.ShuttingDown({ detail: message }),
  TurnNotFound: ({ conversationId, message, turnId }: Conversations.TurnNotFound) =>
    new Problem.TurnNotFound({ ...defined({ conversationId }), turnId, detail: message }),
  StorageError: ({ message }: StorageError) => new Problem.StorageUnavailable({ detail: message }),
  TurnStopped: ({ message }: TurnStopped.TurnStopped) => new Problem.TurnStopped({ detail: message })
}
