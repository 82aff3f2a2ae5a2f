/**
 * Fences this runner off the conversations that it does not surely own: it accepts no turn, makes no call and writes no record.
 *
 * A frozen runner learns late that its locks are another runner's. A record by it would stop the next owner. So an append whose lock is in doubt is
 * refused as by a disk that takes no writes: it is written again later, and holds up no other turn. When the lock is lost it ends as if another
 * process had been ahead of it (`TurnLog.W2`). The turn of a held call is fenced by its claim (`Claims`).
 */
import { type Journal, JournalConflict, StorageError } from "@holdfast/journal"
import { ProviderCall } from "@holdfast/kernel/host"
import { Context, Effect, Exit, Layer } from "effect"
import { Providers } from "../engine/conversation/Providers.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { TurnLog } from "../storage/TurnLog.ts"
import { Ownership } from "../engine/turn/Ownership.ts"
import * as Lease from "./Lease.ts"
import type { Shards } from "./Shards.ts"

/** The services of the runner's orchestrator, fenced. */
export const layer = (shards: Shards) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const providers = yield* Providers
      return Context.make(TurnLog, logOf(yield* TurnLog, shards)).pipe(
        Context.add(Providers, {
          ...providers,
          get: (...named) => {
            const provider = providers.get(...named)
            if (provider === undefined) return undefined
            const make = ProviderCall.of(provider)
            return ProviderCall.provider((request, world, listener) => {
              const begin = () => make(request, world, listener)
              const { conversationId } = request
              return shards.isSure(conversationId)
                ? begin()
                : ProviderCall.behind(shards.sure(conversationId), world, listener, begin)
            })
          }
        }),
        Context.add(Ownership, {
          isOurs: (id) => HeldCallIds.isHeld(id) || shards.find(id) !== undefined,
          sure: (id) => shards.sure(id)
        })
      )
    })
  )

// --- internal

const logOf = (log: TurnLog["Service"], shards: Shards): TurnLog["Service"] => ({
  ...log,
  accept: (turn, ...options) =>
    Effect.suspend(() => {
      const { conversationId } = turn
      if (HeldCallIds.isHeld(conversationId)) return log.accept(turn, ...options)
      const tenure = shards.find(conversationId)
      // The caller goes on at the next owner, which accepts the turn, or finds it on disk.
      if (tenure === undefined) return Effect.interrupt
      return Effect.flatMap(tenure.accepting(log.accept(turn, ...options)), (accepted) => {
        if (tenure.isLost) return Effect.interrupt
        if (shards.isSure(conversationId)) return Effect.succeed(accepted)
        // This runner may have been frozen meanwhile, and another one may have read the shard's turns before.
        return Effect.as(
          Effect.catchTag(tenure.ready, "Elsewhere", () => Effect.interrupt),
          accepted
        )
      })
    }),
  append: Effect.fnUntraced(function* (appends) {
    const refusals = appends.map(({ conversationId, turnId }): Journal.AppendError | undefined => {
      if (shards.isSure(conversationId)) return undefined
      const isOurs = shards.find(conversationId) !== undefined
      return isOurs ? new StorageError({ message: Lease.IN_DOUBT }) : new JournalConflict({ turnId })
    })
    const written = appends.filter((_, i) => refusals[i] === undefined)
    const outcomes = (written.length === 0 ? [] : yield* log.append(written)).values()
    return refusals.map((refusal) =>
      refusal === undefined
        ? (outcomes.next().value ?? Exit.die(new Error("an append has no outcome")))
        : Exit.fail(refusal)
    )
  })
})
