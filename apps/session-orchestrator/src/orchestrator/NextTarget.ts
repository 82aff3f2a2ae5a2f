/**
 * Finds the target of a conversation's next step, for clients (rules P9, P15).
 *
 * NextTarget.T1. While a turn runs: the target of its attempts. Otherwise: where the next turn would begin now, which is a fallback
 *     target while the primary cools down.
 * NextTarget.T2. The size of the next prompt is unknown, so a fallback target is named even if the prompt will not fit it.
 */
import type { StorageError } from "@holdfast/journal"
import { type RetryPolicy, Routes } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import type { Conversation, Store } from "../storage/Store.ts"
import * as TurnRouter from "../turn/TurnRouter.ts"

/** The services that the answer is read from. */
export interface Dependencies extends Omit<TurnRouter.Dependencies, "countTokens"> {
  readonly store: Pick<Store["Service"], "messages">
}

/** `provider/model` that the next turn of a conversation begins on. Nothing is read if there is only one target. */
export const of = (
  { store, standings, ...known }: Dependencies,
  { conversationId, model, modelSince }: Conversation,
  policy: RetryPolicy.RetryPolicy
): Effect.Effect<string, StorageError> => {
  const { routing } = policy
  const primary = Target.parse(model)
  if (primary === undefined || routing.type === "round-robin" || Object.keys(routing.chains).length === 0) {
    return Effect.succeed(model)
  }
  return Effect.gen(function* () {
    const last =
      routing.revert === "never" ? TurnRouter.lastAnswer(yield* store.messages(conversationId), modelSince) : undefined
    const now = yield* Clock.currentTimeMillis
    const standing = yield* standings.load(now)
    const question = {
      primary,
      current: last === undefined ? undefined : { target: last },
      state: undefined,
      request: { system: undefined, messages: [], tools: [] }
    }
    const { route } = Routes.begin(policy, question, { ...known, standing, countTokens: () => 0 }, now)
    return Target.format(route.target)
  })
}
