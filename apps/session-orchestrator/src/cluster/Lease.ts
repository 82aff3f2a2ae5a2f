/**
 * Whether this runner surely owns a shard at this moment.
 *
 * The locks of a runner that stands still (stopped, swapped out, cut off) are taken from it after `EXPIRATION_MS`; when it goes on
 * it does not know that yet. The journal keeps it from writing; this keeps it from asking a provider, and from accepting what
 * somebody else should.
 *
 * L1. A shard is surely owned for `SURE_MS` from the beginning of an answer of PostgreSQL that it is. Then one has to wait for the
 *     next such answer, which comes every three seconds.
 * L2. Time is counted by both clocks, and the longer time counts: one can be set, the other stands still with the machine.
 * L3. Asking costs a look at the clocks; nothing is sent for it.
 *
 * **Gotchas**
 *
 * Between the look and what is done then, a process can be stopped too; and a lock goes at once when its connection is cut,
 * which this runner hears of three seconds later at most. Then it may send a request in vain; of what it writes, the journal lets
 * nothing stand beside what the owner writes (J2). Nothing but a provider that knows our ids could close the rest.
 */
import { StorageError, type Wait } from "@holdfast/journal"
import { Clock, Context, Duration, Effect, Latch, Layer } from "effect"
import { RunnerStorage, type ShardId } from "effect/cluster"
import * as Patience from "../storage/Patience.ts"

/** After this a runner that is silent counts as gone. Long enough for a full garbage collection, or a hiccup of the network. */
export const EXPIRATION_MS = 10_000

/** What was looked up may take a moment to be acted upon. */
export const SURE_MS = EXPIRATION_MS - 1_000

export class Lease extends Context.Service<
  Lease,
  {
    /** Waits until it is sure that a shard is owned. For one that has gone that is never: whoever waits is interrupted. */
    readonly sure: (shard: ShardId.ShardId) => Effect.Effect<void>
  }
>()("@holdfast/session-orchestrator/cluster/Lease") {}

/** A lease that overhears what the cluster asks its storage. */
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
      /** Notes what an answer says of the shards that were asked about, and of no others. */
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
      return Context.make(Lease, { sure }).pipe(Context.add(RunnerStorage.RunnerStorage, overheard))
    })
  )

/** Waits until it is sure, for as long as a database may be silent. */
export const inTime = (sure: Effect.Effect<void>): Effect.Effect<void, StorageError> =>
  Effect.timeoutOrElse(sure, {
    duration: Patience.SILENCE_LIMIT,
    orElse: () => Effect.fail(new StorageError({ message: IN_DOUBT }))
  })

// --- internal

const IN_DOUBT =
  `PostgreSQL has not confirmed for ${Duration.format(Patience.SILENCE_LIMIT)} that this runner still looks after the conversation. ` +
  "Nothing was done. Check the database, then try again."

/** L2 */
const since = (at: Wait.Readings, now: Wait.Readings): number =>
  Math.max(now.wallMs - at.wallMs, now.monotonicMs - at.monotonicMs)
