/**
 * Knows which conversations this runner owns at this moment; takes up the turns of shards that come, and stops those of shards that go.
 *
 * Shards.S1. A shard is owned from the moment that its unsealed turns are being taken up. Calls about its conversations wait until they are.
 * Shards.S2. A lock is given back when the turns of its shard have stopped, unsealed, and no acceptance is being written: the next owner
 *     finds everything on disk.
 * Shards.S3. Take-ups and releases follow one another: a shard that comes back is read again, however short the time was.
 */
import type { StorageError } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Cause, Clock, Deferred, Effect, Exit, Latch, Layer, Option, Schema, Semaphore } from "effect"
import { EntityId, RunnerStorage, ShardId, Sharding } from "effect/cluster"
import type { Charge } from "../orchestrator/Orchestrator.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import * as Lease from "./Lease.ts"
import type { Neighbours } from "./Neighbours.ts"

/** This runner does not have the conversation: its owner is looked up again. */
export class Elsewhere extends Schema.TaggedError<Elsewhere>()("Elsewhere", {}) {}

/** The time that this runner has a shard. */
class Tenure {
  readonly shard: number
  readonly ownership: Lease.Ownership
  readonly lost = Deferred.makeUnsafe<void>()
  readonly gone = Deferred.makeUnsafe<void>()
  private readonly taken = Latch.makeUnsafe()
  private readonly quiet = Latch.makeUnsafe(true)
  private writes = 0
  isTaken = false
  isLost = false

  constructor(shard: number, ownership: Lease.Ownership) {
    this.shard = shard
    this.ownership = ownership
  }

  /** Its turns are taken up. */
  take(): void {
    this.isTaken = true
    this.taken.openUnsafe()
  }

  lose(): void {
    this.isLost = true
    Deferred.doneUnsafe(this.lost, Exit.void)
  }

  /** Waits until its turns are taken up, and the lock is sure. */
  get ready(): Effect.Effect<void, StorageError | Elsewhere> {
    return Effect.raceFirst(
      Effect.andThen(this.taken.await, Lease.inTime(this.ownership)),
      Effect.andThen(Deferred.await(this.lost), new Elsewhere())
    )
  }

  /** Writes an acceptance, which the next owner has to find (Shards.S2). */
  writing<A, E>(write: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        this.writes++
        this.quiet.closeUnsafe()
      }),
      () => write,
      () =>
        Effect.sync(() => {
          if (--this.writes === 0) this.quiet.openUnsafe()
        })
    )
  }

  get written(): Effect.Effect<void> {
    return Effect.asVoid(this.quiet.await)
  }
}

/** The shards of this runner. */
export class Shards {
  private readonly tenures = new Map<number, Tenure>()
  private readonly line = Semaphore.makeUnsafe(1)
  private readonly wanted = Latch.makeUnsafe()
  private looked = Latch.makeUnsafe()
  private sharding: Sharding.Sharding["Service"] | undefined = undefined
  private lease: Lease.Lease["Service"] | undefined = undefined
  private charge: Charge | undefined = undefined
  private moved: (ids: ReadonlyArray<Ids.ConversationId>) => void = () => {}

  /** The shard of a conversation, from 1 to as many as there are. */
  readonly of = (id: Ids.ConversationId): number => this.use(this.sharding).getShardId(EntityId.make(id), GROUP).id

  /** Whether this runner has a shard, as far as it knows. */
  has(shard: number): boolean {
    return this.use(this.sharding).hasShardId(ShardId.make(GROUP, shard))
  }

  /** Whether this runner has the shard of a conversation, as far as it knows. */
  readonly isLocal = (id: Ids.ConversationId): boolean => this.has(this.of(id))

  /** Whether turns of the conversation may run here. */
  isOurs(id: Ids.ConversationId): boolean {
    return this.find(this.of(id)) !== undefined
  }

  /** Whether a call about the conversation can be carried out here at once. */
  isReady(id: Ids.ConversationId): boolean {
    const tenure = this.find(this.of(id))
    return tenure !== undefined && tenure.isTaken && tenure.ownership.isSure()
  }

  /** Waits until it can (Shards.S1). */
  ready(id: Ids.ConversationId): Effect.Effect<void, StorageError | Elsewhere> {
    const found: Effect.Effect<void, StorageError | Elsewhere> = Effect.suspend(() => {
      const shard = this.of(id)
      const tenure = this.find(shard)
      if (tenure !== undefined) return tenure.ready
      if (!this.has(shard)) return new Elsewhere()
      this.wanted.openUnsafe()
      return Effect.andThen(this.looked.await, found)
    })
    return Effect.suspend(() => (this.isReady(id) ? Effect.void : found))
  }

  /** Whether the lock of a shard is sure; for a lock that was lost it never is. */
  ownership(shard: number): Lease.Ownership {
    return this.use(this.lease).of(ShardId.make(GROUP, shard))
  }

  /** The present tenure of a shard. */
  find(shard: number): Tenure | undefined {
    const tenure = this.tenures.get(shard)
    return tenure?.isLost === true ? undefined : tenure
  }

  /** Stops the turns of shards that go; returns when they have stopped (Shards.S2). */
  end(shards: Iterable<number>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const ending = Array.from(shards).flatMap((shard) => this.tenures.get(shard) ?? [])
      for (const tenure of ending) tenure.lose()
      return Effect.andThen(
        ending.length === 0 ? Effect.void : this.line.withPermits(1)(this.released),
        Effect.forEach(ending, ({ gone }) => Deferred.await(gone), { discard: true })
      )
    })
  }

  /** The storage of runners, in which a lock is given back when its turns have stopped. */
  readonly storage: Layer.Layer<RunnerStorage.RunnerStorage, never, RunnerStorage.RunnerStorage> = Layer.effect(
    RunnerStorage.RunnerStorage,
    RunnerStorage.RunnerStorage.useSync((storage) =>
      RunnerStorage.RunnerStorage.of({
        ...storage,
        release: (address, shard) => Effect.andThen(this.end([shard.id]), storage.release(address, shard)),
        releaseAll: (address) => Effect.andThen(this.end(Array.from(this.tenures.keys())), storage.releaseAll(address))
      })
    )
  )

  /** Answers which conversations are this runner's, from here on. */
  readonly known: Effect.Effect<void, never, Sharding.Sharding | Lease.Lease> = Effect.gen(
    { self: this },
    function* () {
      this.sharding = yield* Sharding.Sharding
      this.lease = yield* Lease.Lease
    }
  )

  /** Has the turns of this runner's shards run by an orchestrator, for as long as the scope is open. */
  run = Effect.fnUntraced(function* (this: Shards, charge: Charge, count: number, neighbours: Neighbours) {
    const observer = Option.getOrUndefined(yield* Effect.serviceOption(Observer.Observer))
    const clock = yield* Clock.Clock
    this.charge = charge
    this.moved = (ids) => {
      const at = clock.currentTimeMillisUnsafe()
      for (const conversationId of ids) Observer.moved(observer, { conversationId, at })
    }
    // From there on the turns stop with the orchestrator, and none waits for a lock.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        this.charge = undefined
        for (const tenure of this.tenures.values()) tenure.lose()
      })
    )
    const look = Effect.catchCause(this.line.withPermits(1)(this.look(charge, count, neighbours)), (cause) =>
      Effect.logError(`Turns could not be taken over yet. ${messageOf(cause)}`)
    )
    const waited = Effect.ignore(Effect.timeout(this.wanted.await, INTERVAL))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, waited)))
  })

  private look = Effect.fnUntraced(function* (this: Shards, charge: Charge, count: number, neighbours: Neighbours) {
    this.wanted.closeUnsafe()
    for (const tenure of this.tenures.values()) if (!this.has(tenure.shard)) tenure.lose()
    yield* this.released
    const come = new Map<number, Tenure>()
    for (let shard = 1; shard <= count; shard++)
      if (this.has(shard) && !this.tenures.has(shard)) come.set(shard, new Tenure(shard, this.ownership(shard)))
    if (come.size > 0) {
      for (const [shard, tenure] of come) this.tenures.set(shard, tenure)
      const taken = yield* Effect.tapCause(
        charge.takeUp((id) => come.has(this.of(id))),
        () => Effect.sync(() => come.forEach((tenure) => tenure.lose()))
      )
      for (const tenure of come.values()) tenure.take()
      const now = yield* Clock.currentTimeMillis
      if (taken.turns > 0 || neighbours.gone(now).length > 0)
        yield* Effect.logInfo(
          `Took over ${taken.turns} unfinished turn(s) of ${taken.conversations} conversation(s), in ${come.size} of ${count} shards, ` +
            `from ${neighbours.origin(now)}.`
        )
    }
    const { looked } = this
    this.looked = Latch.makeUnsafe()
    looked.openUnsafe()
  })

  /** Stops the turns of the shards that were lost. In the line, so none is being taken up (Shards.S3). */
  private readonly released: Effect.Effect<void> = Effect.suspend(() => {
    const lost = new Map(Array.from(this.tenures).filter(([, { isLost }]) => isLost))
    if (lost.size === 0) return Effect.void
    // A held call is where its client is, whatever runner has its shard.
    const isLost = (id: Ids.ConversationId): boolean => !HeldCallIds.isHeld(id) && lost.has(this.of(id))
    const stopped = this.charge?.giveUp(isLost) ?? Effect.succeed([])
    return Effect.forEach(lost.values(), ({ written }) => written, { discard: true }).pipe(
      Effect.andThen(stopped),
      Effect.map((ids) => {
        for (const [shard, { gone }] of lost) {
          this.tenures.delete(shard)
          Deferred.doneUnsafe(gone, Exit.void)
        }
        this.moved(ids)
      }),
      Effect.uninterruptible
    )
  })

  private use<A>(part: A | undefined): A {
    if (part === undefined) throw new Error("the runner has not started")
    return part
  }
}

// --- internal

/** What conversations are dealt out in. */
const GROUP = "default"

const messageOf = (cause: Cause.Cause<StorageError>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

/** A look at some hundred flags in memory. */
const INTERVAL = "500 millis"
