/**
 * Decides whether this runner surely owns a shard at this moment.
 *
 * A frozen runner (stopped, swapped out, cut off) loses its locks after `EXPIRATION_MS`, and does not know that when it resumes. The
 * journal keeps it from writing; the lease keeps it from calling a provider, and from accepting turns that belong to another runner.
 *
 * Lease.L1. A shard is surely owned for `SURE_MS` from the moment of the query that PostgreSQL answered with the lock. After that a caller
 *     waits for the next such answer, which comes every three seconds.
 * Lease.L2. Both clocks measure the time, and the longer time counts: one clock can be set, the other stops with the machine.
 * Lease.L3. A check reads the clocks; it sends nothing.
 */
import { DatabaseWait } from "@holdfast/journal/sql"
import { Monotonic } from "@holdfast/kernel/host"
import { StorageError, type Wait } from "@holdfast/journal"
import { type Clock, Effect, Latch } from "effect"
import type { RunnerStorage, ShardId } from "effect/cluster"

/** Milliseconds after which a silent runner counts as dead. Long enough for a full garbage collection, or a short fault of the network. */
export const EXPIRATION_MS = 10_000

/** Milliseconds for which an answer counts; the rest of `EXPIRATION_MS` is for the action that follows. */
export const SURE_MS = EXPIRATION_MS - 1_000

/** Why nothing is done for a conversation whose lock is not sure. */
export const IN_DOUBT =
  "PostgreSQL has not confirmed for some seconds that this runner still looks after the conversation. Nothing was done. Check the database, " +
  "then try again."

/** The locks of shards, as PostgreSQL has last confirmed them. */
export class Lease {
  private readonly clock: Clock.Clock
  private readonly confirmedAt = new Map<number, Wait.Readings>()
  private next = Latch.makeUnsafe()

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  /**
   * Whether a shard is surely owned at this moment.
   *
   * **Gotchas**
   *
   * A process can also be stopped between the check and the action; and a cut connection loses its lock at once, which this runner
   * learns at most three seconds later. Then it may send a useless request; the journal refuses its writes beside the owner's (`TurnLog.W2`).
   * Only a provider that knows Holdfast's ids could close the remaining gap.
   */
  isSure(shard: number): boolean {
    const at = this.confirmedAt.get(shard)
    return at !== undefined && since(at, this.read()) < SURE_MS
  }

  /** Waits until it is. For a shard that was lost it never returns: its caller is interrupted. */
  sure(shard: number): Effect.Effect<void> {
    return Effect.suspend(() => (this.isSure(shard) ? Effect.void : Effect.andThen(this.next.await, this.sure(shard))))
  }

  /** Reads the cluster's own queries of its storage, and their answers. */
  overhear(storage: RunnerStorage.RunnerStorage["Service"]): RunnerStorage.RunnerStorage["Service"] {
    return {
      ...storage,
      acquire: (address, shards) => this.asked(shards, (asked) => storage.acquire(address, asked)),
      refresh: (address, shards) => this.asked(shards, (asked) => storage.refresh(address, asked)),
      release: (address, shard) =>
        Effect.suspend(() => {
          this.confirmedAt.delete(shard.id)
          return storage.release(address, shard)
        }),
      releaseAll: (address) =>
        Effect.suspend(() => {
          this.confirmedAt.clear()
          return storage.releaseAll(address)
        })
    }
  }

  /** Records an answer for the shards of its query, and for no others. */
  private asked<E>(
    shards: Iterable<ShardId.ShardId>,
    ask: (asked: ReadonlyArray<ShardId.ShardId>) => Effect.Effect<Array<ShardId.ShardId>, E>
  ) {
    return Effect.suspend(() => {
      const at = this.read()
      const asked = Array.from(shards)
      return Effect.map(ask(asked), (owned) => {
        const ours = new Set(owned.map(({ id }) => id))
        for (const { id } of asked) {
          if (ours.has(id)) this.confirmedAt.set(id, at)
          else this.confirmedAt.delete(id)
        }
        const { next } = this
        this.next = Latch.makeUnsafe()
        next.openUnsafe()
        return owned
      })
    })
  }

  private read(): Wait.Readings {
    return { wallMs: this.clock.currentTimeMillisUnsafe(), monotonicMs: Monotonic.millis(this.clock) }
  }
}

/** Waits until a shard is surely owned, for as long as a database may be silent. */
export const inTime = (sure: Effect.Effect<void>): Effect.Effect<void, StorageError> =>
  Effect.timeoutOrElse(sure, {
    duration: DatabaseWait.SILENCE_LIMIT,
    orElse: () => Effect.fail(new StorageError({ message: IN_DOUBT }))
  })

// --- internal

/** Lease.L2 */
const since = (at: Wait.Readings, now: Wait.Readings): number =>
  Math.max(now.wallMs - at.wallMs, now.monotonicMs - at.monotonicMs)
