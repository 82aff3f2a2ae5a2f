/**
 * Fences this runner off the conversations that it does not surely own: it accepts no turn, makes no call and writes no record.
 *
 * A frozen runner learns late that its locks are another runner's. A record by it would stop the next owner; so an append waits for the lock, and
 * ends as if another process had been ahead of it (`Journal.J2`) when the lock is lost. The turn of a held call is fenced by its claim (`Claims`).
 */
import { JournalConflict } from "@holdfast/journal"
import { ProviderCall } from "@holdfast/kernel/host"
import type { Ids, TurnEvent } from "@holdfast/wire"
import { Context, Deferred, Effect, Exit, Layer } from "effect"
import { Providers } from "../conversation/Providers.ts"
import { Journal } from "../storage/EventJournal.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store, type Turn, type Unsealed } from "../storage/Store.ts"
import { Ownership } from "../turn/Ownership.ts"
import type { Shards } from "./Shards.ts"

/** The services of the runner's orchestrator, fenced. */
export const layer = (shards: Shards) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const turns = new OwnTurns(shards)
      return Context.make(Store, storeOf(yield* Store, shards, turns)).pipe(
        Context.add(Journal, journalOf(yield* Journal, shards, turns)),
        Context.add(Providers, providersOf(yield* Providers, shards)),
        Context.add(Ownership, {
          isOurs: (id) => HeldCallIds.isHeld(id) || shards.isOurs(id),
          sure: (id) => ownershipOf(shards, id)?.sure ?? Effect.void
        })
      )
    })
  )

// --- internal

type Named = Pick<Turn, "conversationId" | "turnId">

/** The shards of the turns that this runner may write to, until they are sealed: an append names its turn alone. */
class OwnTurns {
  private readonly turns = new Map<Ids.TurnId, number>()
  private readonly shards: Shards

  constructor(shards: Shards) {
    this.shards = shards
  }

  find(turnId: Ids.TurnId): number | undefined {
    return this.turns.get(turnId)
  }

  /** Waits until the shard of a turn is lost. */
  lost(turnId: Ids.TurnId): Effect.Effect<void> {
    return Effect.suspend(() => {
      const shard = this.turns.get(turnId)
      if (shard === undefined) return Effect.never
      const tenure = this.shards.find(shard)
      return tenure === undefined ? Effect.void : Deferred.await(tenure.lost)
    })
  }

  add({ conversationId, turnId }: Named): void {
    const shard = this.shards.of(conversationId)
    if (!HeldCallIds.isHeld(conversationId) && this.shards.find(shard) !== undefined) this.turns.set(turnId, shard)
  }

  /** Adds turns that are read from disk, as shards come; those of shards that have gone are left out from then on. */
  readonly read = <E>(found: Effect.Effect<ReadonlyArray<Unsealed>, E>) =>
    Effect.tap(found, (found) =>
      Effect.sync(() => {
        for (const [turnId, shard] of this.turns) if (this.shards.find(shard) === undefined) this.turns.delete(turnId)
        for (const turn of found) this.add(turn)
      })
    )

  written(turnId: Ids.TurnId, events: ReadonlyArray<TurnEvent.PersistedEvent> = []): void {
    if (events.at(-1)?.type === "turn-end") this.turns.delete(turnId)
  }
}

/** The lock of a conversation; a held call has none. */
const ownershipOf = (shards: Shards, id: Ids.ConversationId) =>
  HeldCallIds.isHeld(id) ? undefined : shards.ownership(shards.of(id))

const storeOf = (store: Store["Service"], shards: Shards, turns: OwnTurns): Store["Service"] => ({
  ...store,
  acceptTurn: (turn, ...options) =>
    Effect.suspend(() => {
      if (HeldCallIds.isHeld(turn.conversationId)) return store.acceptTurn(turn, ...options)
      const tenure = shards.find(shards.of(turn.conversationId))
      // The caller goes on at the next owner, which accepts the turn, or finds it on disk.
      if (tenure === undefined) return Effect.interrupt
      turns.add(turn)
      const written = tenure.writing(store.acceptTurn(turn, ...options))
      return Effect.flatMap(written, (accepted) => {
        if (tenure.isLost) return Effect.interrupt
        if (tenure.ownership.isSure()) return Effect.succeed(accepted)
        // This runner may have been frozen meanwhile, and another one may have read the shard's turns before.
        return Effect.as(
          Effect.catchTag(tenure.ready, "Elsewhere", () => Effect.interrupt),
          accepted
        )
      })
    }),
  appendEvents: (id, turnId, events, position) =>
    Effect.tap(
      Effect.andThen(ownershipOf(shards, id)?.sure ?? Effect.void, store.appendEvents(id, turnId, events, position)),
      () => Effect.sync(() => turns.written(turnId, events))
    ),
  unsealedTurns: turns.read(store.unsealedTurns),
  unsealedTurnsOf: (id) => turns.read(store.unsealedTurnsOf(id))
})

const journalOf = (journal: Journal["Service"], shards: Shards, turns: OwnTurns): Journal["Service"] => {
  const sure = (turnId: Ids.TurnId): Effect.Effect<void, JournalConflict> =>
    Effect.suspend(() => {
      const shard = turns.find(turnId)
      if (shard === undefined) return Effect.void
      const { isSure, sure } = shards.ownership(shard)
      if (isSure()) return Effect.void
      return Effect.raceFirst(sure, Effect.andThen(turns.lost(turnId), new JournalConflict({ turnId })))
    })
  return {
    ...journal,
    append: (turnId, ...rest) => Effect.andThen(sure(turnId), journal.append(turnId, ...rest)),
    appendWith: (turnId, seq, records, statements) =>
      Effect.andThen(sure(turnId), journal.appendWith(turnId, seq, records, statements)).pipe(
        Effect.tap(() => Effect.sync(() => turns.written(turnId, statements.events)))
      ),
    appendAll: Effect.fnUntraced(function* (appends) {
      const fences = yield* Effect.forEach(appends, ({ turnId }) => Effect.exit(sure(turnId)))
      const outcomes = (yield* journal.appendAll(appends.filter((_, i) => fences[i]?._tag === "Success"))).values()
      return fences.map((fence, i) => {
        if (!Exit.isSuccess(fence)) return Exit.map(fence, () => undefined)
        const outcome = outcomes.next().value ?? Exit.die(new Error("an append has no outcome"))
        const { statements, turnId } = appends[i] ?? {}
        // A seal that was refused is written again, behind the same fence.
        if (turnId !== undefined && Exit.isSuccess(outcome)) turns.written(turnId, statements?.events)
        return outcome
      })
    })
  }
}

const providersOf = (providers: Providers["Service"], shards: Shards): Providers["Service"] => ({
  ...providers,
  get: (...named) => {
    const provider = providers.get(...named)
    if (provider === undefined) return undefined
    const make = ProviderCall.of(provider)
    return ProviderCall.provider((request, world, listener) => {
      const begin = () => make(request, world, listener)
      const ownership = ownershipOf(shards, request.conversationId)
      if (ownership === undefined || ownership.isSure()) return begin()
      return ProviderCall.behind(ownership.sure, world, listener, begin)
    })
  }
})
