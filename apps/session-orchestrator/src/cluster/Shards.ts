/**
 * Knows which conversations this runner owns at this moment; takes up the turns of shards that come, and stops those of shards that go.
 *
 * Each shard has a singleton of the cluster: it starts when this runner has the shard's lock, and the lock is given back when it has stopped.
 *
 * Shards.S1. A shard is owned from the moment that its unsealed turns are being taken up. Calls about its conversations wait until they are.
 * Shards.S2. A lock is given back when the turns of its shard have stopped, unsealed, and no acceptance is being written: the next owner
 *     finds everything on disk.
 * Shards.S3. Take-ups and releases follow one another: a shard that comes back is read again, however short the time was.
 */
import type { StorageError } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Cause, Clock, Deferred, Effect, Exit, Latch, Option, Schema, Semaphore } from "effect"
import { EntityId, ShardId, type Sharding } from "effect/cluster"
import type { Charge } from "../engine/orchestrator/Orchestrator.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import * as Lease from "./Lease.ts"
import type { Neighbours } from "./Neighbours.ts"

/** This runner does not have the conversation: its owner is looked up again. */
export class Elsewhere extends Schema.TaggedError<Elsewhere>()("Elsewhere", {}) {}

/** The time that this runner has a shard. */
class Tenure {
  /** Its turns are taken up. */
  readonly taken = Deferred.makeUnsafe<void>()
  readonly lost = Deferred.makeUnsafe<void>()
  private readonly sure: Effect.Effect<void>
  private readonly acceptances = Semaphore.makeUnsafe(MOST)

  constructor(sure: Effect.Effect<void>) {
    this.sure = sure
  }

  get isTaken(): boolean {
    return Deferred.isDoneUnsafe(this.taken)
  }

  get isLost(): boolean {
    return Deferred.isDoneUnsafe(this.lost)
  }

  /** Waits until its turns are taken up, and the lock is sure. */
  get ready(): Effect.Effect<void, StorageError | Elsewhere> {
    return Effect.raceFirst(
      Effect.andThen(Deferred.await(this.taken), Lease.inTime(this.sure)),
      Effect.andThen(Deferred.await(this.lost), new Elsewhere())
    )
  }

  /** Writes an acceptance, which the next owner has to find (Shards.S2). */
  accepting<A, E>(write: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return this.acceptances.withPermits(1)(write)
  }

  /** Waits until none is being written. */
  get accepted(): Effect.Effect<void> {
    return this.acceptances.withPermits(MOST)(Effect.void)
  }
}

/** The shards of this runner. */
export class Shards {
  /** An id in each shard: what is for the owner of the shard is for that. */
  readonly ids: ReadonlyMap<number, string>
  private readonly sharding: Sharding.Sharding["Service"]
  private readonly lease: Pick<Lease.Lease, "isSure" | "sure">
  private readonly tenures = new Map<number, Tenure>()
  private readonly line = Semaphore.makeUnsafe(1)
  private readonly come = Latch.makeUnsafe()

  /** @param count of all runners */
  constructor(sharding: Sharding.Sharding["Service"], lease: Pick<Lease.Lease, "isSure" | "sure">, count: number) {
    this.sharding = sharding
    this.lease = lease
    const ids = new Map<number, string>()
    for (let n = 0; ids.size < count; n++) ids.set(this.of(`shard-${n}`), `shard-${n}`)
    this.ids = ids
  }

  /** The shard of a conversation, from 1 to as many as there are. */
  of(id: string): number {
    return this.sharding.getShardId(EntityId.make(id), GROUP).id
  }

  /** Whether this runner has the shard of a conversation, as far as it knows. */
  readonly isLocal = (id: Ids.ConversationId): boolean => this.sharding.hasShardId(ShardId.make(GROUP, this.of(id)))

  /** The present tenure of a conversation's shard: turns of the conversation may run here. */
  find(id: Ids.ConversationId): Tenure | undefined {
    const tenure = this.tenures.get(this.of(id))
    return tenure?.isLost === true ? undefined : tenure
  }

  /** Whether a call about the conversation can be carried out here at once. */
  isReady(id: Ids.ConversationId): boolean {
    return this.find(id)?.isTaken === true && this.lease.isSure(this.of(id))
  }

  /** Waits until it can (Shards.S1). */
  ready(id: Ids.ConversationId): Effect.Effect<void, StorageError | Elsewhere> {
    return Effect.suspend(() => (this.isReady(id) ? Effect.void : (this.find(id)?.ready ?? new Elsewhere())))
  }

  /** Whether the lock of a conversation is sure (`Lease`). The turn of a held call has none. */
  isSure(id: Ids.ConversationId): boolean {
    return HeldCallIds.isHeld(id) || this.lease.isSure(this.of(id))
  }

  sure(id: Ids.ConversationId): Effect.Effect<void> {
    return HeldCallIds.isHeld(id) ? Effect.void : this.lease.sure(this.of(id))
  }

  /** Has the turns of this runner's shards run by an orchestrator, for as long as the scope is open. */
  readonly run = Effect.fnUntraced(function* (this: Shards, charge: Charge, neighbours: Neighbours) {
    const observer = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
    let isOpen = true
    const released = this.line.withPermits(1)(
      Effect.suspend(() => (isOpen ? this.released(charge, observer) : Effect.void))
    )
    for (const [shard, id] of this.ids)
      yield* this.sharding.registerSingleton(
        id,
        Effect.acquireUseRelease(
          Effect.sync(() => {
            const tenure = new Tenure(this.lease.sure(shard))
            this.tenures.set(shard, tenure)
            this.come.openUnsafe()
            return tenure
          }),
          () => Effect.never,
          ({ lost }) => Effect.andThen(Deferred.succeed(lost, undefined), released)
        )
      )
    // From there on the turns stop with the orchestrator, and none waits for a lock.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isOpen = false
        for (const { lost } of this.tenures.values()) Deferred.doneUnsafe(lost, Exit.void)
      })
    )
    const takenUp = Effect.catchCause(this.line.withPermits(1)(this.takeUp(charge, neighbours)), (cause) =>
      Effect.logError(`Turns could not be taken over yet. ${Cause.prettyErrors(cause)[0]?.message}`).pipe(
        Effect.andThen(Effect.sleep(INTERVAL)),
        Effect.andThen(this.come.open)
      )
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(this.come.await, takenUp)))
  })

  private readonly takeUp = Effect.fnUntraced(function* (this: Shards, charge: Charge, neighbours: Neighbours) {
    this.come.closeUnsafe()
    const come = new Map(Array.from(this.tenures).filter(([, { isLost, isTaken }]) => !isLost && !isTaken))
    if (come.size === 0) return
    const found = yield* charge.takeUp((id) => come.has(this.of(id)))
    for (const { taken } of come.values()) Deferred.doneUnsafe(taken, Exit.void)
    const now = yield* Clock.currentTimeMillis
    if (found.turns > 0 || neighbours.gone(now).length > 0)
      yield* Effect.logInfo(
        `Took over ${found.turns} unfinished turn(s) of ${found.conversations} conversation(s), in ${come.size} of ${this.ids.size} shards, ` +
          `from ${neighbours.origin(now)}.`
      )
  })

  /** Stops the turns of the shards that were lost. In the line, so none is being taken up (Shards.S3). */
  private readonly released = Effect.fnUntraced(function* (
    this: Shards,
    charge: Charge,
    observer: Observer.Listeners | undefined
  ) {
    const lost = new Map(Array.from(this.tenures).filter(([, { isLost }]) => isLost))
    if (lost.size === 0) return
    yield* Effect.forEach(lost.values(), ({ accepted }) => accepted, { discard: true })
    // A held call is where its client is, whatever runner has its shard.
    const ids = yield* charge.giveUp((id) => !HeldCallIds.isHeld(id) && lost.has(this.of(id)))
    for (const shard of lost.keys()) this.tenures.delete(shard)
    const at = yield* Clock.currentTimeMillis
    for (const conversationId of ids) Observer.moved(observer, { conversationId, at })
  })
}

// --- internal

/** What conversations are dealt out in. */
const GROUP = "default"

/** More acceptances than are ever written at once. */
const MOST = Number.MAX_SAFE_INTEGER

/** Between two tries to take up turns. */
const INTERVAL = "500 millis"
