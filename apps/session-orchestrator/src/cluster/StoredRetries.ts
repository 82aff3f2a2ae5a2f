/**
 * Accepts retries of turns that have ended, without their conversations in memory (rules M1, X15).
 *
 * StoredRetries.R1. A retry is answered when its turn is on disk, with its first events. The turn runs after the answer: the alarm clock brings
 *     its conversation into memory, here or in the next life.
 * StoredRetries.R2. A retry is accepted here only if no turn of its conversation is without an end (the shard is covered, `AlarmClock.A1`), and
 *     its turn is the newest. Everything else is returned: the conversation decides about it, and reports why it refuses (`Acceptance`).
 * StoredRetries.R3. The same retry again is the same turn: it is returned too.
 */
import type { StorageError } from "@holdfast/journal"
import { Clock, Effect, Option } from "effect"
import { Sharding } from "effect/cluster"
import type { Ids } from "@holdfast/wire"
import { Defaults } from "../conversation/Defaults.ts"
import type { Retry } from "../conversation/TurnCommands.ts"
import * as Acceptance from "../orchestrator/Acceptance.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store } from "../storage/Store.ts"
import * as Alarms from "./Alarms.ts"
import { LOADED, type RunnerOutcome } from "./GroupedCommands.ts"

/** The retries of this runner's conversations that are not in memory. */
export interface StoredRetries {
  /** Whether the conversation has no turn to run, as far as this runner knows (StoredRetries.R2). */
  readonly fits: (retry: Retry) => boolean
  /** Accepts a retry of a turn; `sure` waits until this runner surely owns the conversation, which stays out of memory meanwhile. */
  readonly accept: (
    retry: Retry,
    turnId: Ids.TurnId,
    sure: Effect.Effect<void, StorageError>
  ) => Effect.Effect<RunnerOutcome, StorageError>
}

/** The retries, over the services of the runner. */
export const make = Effect.gen(function* () {
  const store = yield* Store
  const alarms = yield* Alarms.Alarms
  const sharding = yield* Sharding.Sharding
  const { receivers = [] } = yield* Defaults

  const accept: StoredRetries["accept"] = Effect.fnUntraced(function* (retry, turnId, sure) {
    const { conversationId } = retry
    const last = Option.getOrUndefined(yield* store.lastTurn(conversationId))
    if (last?.turnId !== turnId || Acceptance.refusalOf(last) !== undefined) return LOADED // StoredRetries.R2
    yield* sure
    const now = yield* Clock.currentTimeMillis
    const turn = {
      turnId: retry.turnId,
      conversationId,
      prompt: undefined,
      acceptedAt: now,
      notify: receivers,
      isSubmitted: true as const
    }
    const accepted = Effect.map(store.acceptTurn(turn, { isOpened: true }), ({ _tag }): RunnerOutcome => {
      if (_tag !== "Accepted") return LOADED // StoredRetries.R3
      alarms.add(conversationId, { at: now, isWaiting: false, isUnbegun: true, queued: 0 }) // StoredRetries.R1
      return { outcome: "done" }
    })
    return yield* Effect.uninterruptible(accepted)
  })

  const retries: StoredRetries = {
    fits: ({ conversationId }) =>
      !HeldCallIds.isHeld(conversationId) &&
      alarms.isCovered(Alarms.shardOf(sharding, conversationId)) &&
      alarms.find(conversationId) === undefined,
    accept
  }
  return retries
})
