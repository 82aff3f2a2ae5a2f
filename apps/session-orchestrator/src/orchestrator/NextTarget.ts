/**
 * Where a conversation's next step goes, for a client that asks (P9, P15).
 *
 * T1. While a turn runs, where its attempts go. Otherwise where the next turn would begin now: on a stand-in while the primary cools
 *     down.
 * T2. What the next prompt holds is not known, so a stand-in that it does not fit is named all the same.
 */
import type { StorageError } from "@holdfast/journal"
import { type RetryPolicy, Routes } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import type { Conversation, Store } from "../storage/Store.ts"
import * as Routers from "../turn/Routers.ts"

/** What is read to find out. */
export interface Dependencies extends Omit<Routers.Dependencies, "countTokens"> {
  readonly store: Pick<Store["Service"], "messages">
}

/** `provider/model` that the next turn of a conversation begins on. Nothing is read where there is only one. */
export const of = (
  { store, standings, ...known }: Dependencies,
  { conversationId, model }: Conversation,
  policy: RetryPolicy.RetryPolicy
): Effect.Effect<string, StorageError> => {
  const { routing } = policy
  const primary = Target.parse(model)
  if (primary === undefined || routing.type === "round-robin" || Object.keys(routing.chains).length === 0) {
    return Effect.succeed(model)
  }
  return Effect.gen(function* () {
    const last = routing.revert === "never" ? Routers.lastAnswer(yield* store.messages(conversationId)) : undefined
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
