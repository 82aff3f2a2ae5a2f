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
 *
 * **Gotchas**
 *
 * A process can also be stopped between the check and the action; and a cut connection loses its lock at once, which this runner
 * learns at most three seconds later. Then it may send a useless request; the journal refuses its writes beside the owner's (`Journal.J2`).
 * Only a provider that knows Holdfast's ids could close the remaining gap.
 */
import { DatabaseWait } from "@holdfast/journal/sql"
import { StorageError, type Wait } from "@holdfast/journal"
import { Clock, Context, Duration, Effect, Latch, Layer } from "effect"
import { RunnerStorage, type ShardId } from "effect/cluster"

/** Milliseconds after which a silent runner counts as dead. Long enough for a full garbage collection, or a short fault of the network. */
export const EXPIRATION_MS = 10_000

/** Milliseconds for which an answer counts; the rest of `EXPIRATION_MS` is for the action that follows. */
export const SURE_MS = EXPIRATION_MS - 1_000

/** The ownership of a shard by this runner. */
export interface Ownership {
  /** Whether the shard is surely owned at this moment. */
  readonly isSure: () => boolean
  /** Waits until it is. For a shard that was lost it never returns: its caller is interrupted. */
  readonly sure: Effect.Effect<void>
}

/** The ownership of shards by this runner. */
export class Lease extends Context.Service<
  Lease,
  {
    readonly of: (shard: ShardId.ShardId) => Ownership
  }
>()("@holdfast/session-orchestrator/cluster/Lease") {}

/** A lease that reads the cluster's own queries of its storage, and their answers. */
export const layer: Layer.Layer<Lease | RunnerStorage.RunnerStorage, never, RunnerStorage.RunnerStorage> =
  Layer.effectContext(
    Effect.gen(function* () {
      const storage = yield* RunnerStorage.RunnerStorage
      const clock = yield* Clock.Clock
      const read = (): Wait.Readings => ({
        wallMs: clock.currentTimeMillisUnsafe(),
        monotonicMs: Number(clock.monotonicTimeNanosUnsafe()) / 1e6
      })
      const confirmedAt = new Map<string, Wait.Readings>()
      let next = Latch.makeUnsafe()
      /** Records an answer for the shards of its query, and for no others. */
      const hear = (
        asked: ReadonlyArray<ShardId.ShardId>,
        owned: ReadonlyArray<ShardId.ShardId>,
        at: Wait.Readings
      ) => {
        const names = new Set(owned.map(String))
        for (const shard of asked.map(String)) {
          if (names.has(shard)) confirmedAt.set(shard, at)
          else confirmedAt.delete(shard)
        }
        const told = next
        next = Latch.makeUnsafe()
        told.openUnsafe()
      }
      const isSure = (shard: ShardId.ShardId): boolean => {
        const at = confirmedAt.get(shard.toString())
        return at !== undefined && since(at, read()) < SURE_MS
      }
      const sure = (shard: ShardId.ShardId): Effect.Effect<void> =>
        Effect.suspend(() => (isSure(shard) ? Effect.void : Effect.andThen(next.await, sure(shard))))
      const of = (shard: ShardId.ShardId): Ownership => ({ isSure: () => isSure(shard), sure: sure(shard) })

      const overhear = <E>(
        shards: Iterable<ShardId.ShardId>,
        ask: (asked: ReadonlyArray<ShardId.ShardId>) => Effect.Effect<Array<ShardId.ShardId>, E>
      ) =>
        Effect.suspend(() => {
          const at = read()
          const asked = Array.from(shards)
          return Effect.tap(ask(asked), (owned) => Effect.sync(() => hear(asked, owned, at)))
        })

      const overheard = RunnerStorage.RunnerStorage.of({
        ...storage,
        acquire: (address, shards) => overhear(shards, (asked) => storage.acquire(address, asked)),
        refresh: (address, shards) => overhear(shards, (asked) => storage.refresh(address, asked)),
        release: (address, shard) =>
          Effect.suspend(() => {
            hear([shard], [], read())
            return storage.release(address, shard)
          }),
        releaseAll: (address) =>
          Effect.suspend(() => {
            confirmedAt.clear()
            return storage.releaseAll(address)
          })
      })
      return Context.make(Lease, { of }).pipe(Context.add(RunnerStorage.RunnerStorage, overheard))
    })
  )

/** Waits until the shard is surely owned, for as long as a database may be silent. */
export const inTime = ({ isSure, sure }: Ownership): Effect.Effect<void, StorageError> =>
  Effect.suspend(() =>
    isSure()
      ? Effect.void
      : Effect.timeoutOrElse(sure, {
          duration: DatabaseWait.SILENCE_LIMIT,
          orElse: () => Effect.fail(new StorageError({ message: IN_DOUBT }))
        })
  )

// --- internal

const IN_DOUBT =
  `PostgreSQL has not confirmed for ${Duration.format(DatabaseWait.SILENCE_LIMIT)} that this runner still looks after the conversation. ` +
  "Nothing was done. Check the database, then try again."

/** Lease.L2 */
const since = (at: Wait.Readings, now: Wait.Readings): number =>
  Math.max(now.wallMs - at.wallMs, now.monotonicMs - at.monotonicMs)
