/**
 * A conversation on the runner that owns it: the local `Conversations`, restricted to this one, for as long as it is here.
 *
 * R1. It takes up its unsealed turns when it comes, and they stop, unsealed, when it goes: before another runner runs them, if
 *     this one knows that it has to go.
 * R2. A runner that does not know, because it was frozen or cut off, is fenced by the journal: its turn stops at its next
 *     record (J2). It may be that the other one was late, and not this one. So whoever is stopped comes anew, from the records,
 *     for as long as it is the owner.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Context, Effect, Layer, References, type Scope } from "effect"
import * as Condition from "../conversation/Condition.ts"
import { Conversations } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as Orchestrator from "../conversation/Orchestrator.ts"
import type { Providers } from "../conversation/Providers.ts"
import type { Tools } from "../conversation/Tools.ts"
import type { Timer } from "../durable/Timer.ts"
import type { Journal } from "../storage/Journal.ts"
import type { Standings } from "../storage/Standings.ts"
import { type StorageError, Store } from "../storage/Store.ts"

export interface Resident {
  readonly conversations: Conversations["Service"]
  /** Waits until every turn is sealed, those that come meanwhile too. Fails when one was stopped (R2). */
  readonly untilSealed: Effect.Effect<void, StorageError | TurnStopped.TurnStopped>
  /** Whether a turn is in the middle of an answer. */
  readonly isAnswering: () => boolean
}

export type Requirements = Store | Journal | Standings | Timer | Providers | Tools | Defaults

/** Lives as long as its scope. Its unsealed turns have been taken up when it is there. */
export const make = Effect.fnUntraced(function* (
  id: Ids.ConversationId
): Effect.fn.Return<Resident, StorageError, Requirements | Scope.Scope> {
  const store = yield* Store
  const unsealed = store.unsealedTurnsOf(id)
  const own = Layer.mergeAll(Layer.succeed(Store, { ...store, unsealedTurns: unsealed }), Layer.fresh(Condition.layer))
  // An orchestrator of its own, whatever the layers around it share. What each of them took up is no news: `TakeOver` told.
  const context = yield* Layer.build(Layer.fresh(Orchestrator.layer).pipe(Layer.provideMerge(own))).pipe(
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
  const conversations = Context.get(context, Conversations)
  const condition = Context.get(context, Condition.Condition)
  yield* condition.started
  const untilSealed: Resident["untilSealed"] = Effect.flatMap(unsealed, ([first]) =>
    first === undefined ? Effect.void : Effect.andThen(conversations.result(first.turnId), untilSealed)
  )
  return { conversations, untilSealed, isAnswering: () => Effect.runSync(condition.isAnswering) }
})
