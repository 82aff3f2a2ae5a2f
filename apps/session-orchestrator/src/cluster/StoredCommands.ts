/**
 * Carries out commands for turns of this runner whose conversations are not in memory, many at once.
 *
 * StoredCommands.D1. A command is carried out here only while this runner surely owns the conversation, and the conversation stays out of memory
 *     (`WriteClaims`). Everything else is returned.
 * StoredCommands.D2. The commands of one message are carried out side by side: their reads share queries (`GroupRead`), and their writes are
 *     queued together and share a commit (`GroupCommit`).
 */
import type { JournalConflict, StorageError } from "@holdfast/journal"
import { Effect } from "effect"
import { Sharding } from "effect/cluster"
import { refused, type TurnCommand } from "../conversation/TurnCommands.ts"
import * as Alarms from "./Alarms.ts"
import { ELSEWHERE, LOADED, type RunnerOutcome } from "./GroupedCommands.ts"
import * as Lease from "./Lease.ts"
import * as StoredRetries from "./StoredRetries.ts"
import * as StoredWaits from "./StoredWaits.ts"
import type { WriteClaims } from "./WriteClaims.ts"

/** Carries out commands, and returns the outcome of each. */
export type CarryOut = (
  commands: ReadonlyArray<TurnCommand>,
  origin: string
) => Effect.Effect<ReadonlyArray<RunnerOutcome>>

/** Commands over the services of the runner. */
export const make = Effect.fnUntraced(function* (claims: WriteClaims) {
  const lease = yield* Lease.Lease
  const sharding = yield* Sharding.Sharding
  const retries = yield* StoredRetries.make
  const waits = yield* StoredWaits.make

  /** The effect of a command on disk, once this runner surely owns the conversation; `undefined`: its conversation has to be in memory. */
  const effectOf = ({ command, turnId }: TurnCommand, origin: string): OnDisk | undefined => {
    if (command.type === "retry")
      return retries.fits(command) ? (sure) => retries.accept(command, turnId, sure) : undefined
    const wait = { command, turnId }
    return waits.has(wait) ? (sure) => waits.steer(wait, origin, sure) : undefined
  }

  const one = (command: TurnCommand, origin: string): Effect.Effect<RunnerOutcome> =>
    Effect.suspend(() => {
      const { conversationId } = command.command
      const shard = Alarms.shardIdOf(sharding, conversationId)
      if (!sharding.hasShardId(shard)) return Effect.succeed(ELSEWHERE)
      const carryOut = effectOf(command, origin)
      const claim = carryOut && claims.steer(conversationId)
      if (carryOut === undefined || claim === undefined) return Effect.succeed(LOADED)
      return carryOut(Lease.inTime(lease.of(shard))).pipe(
        // The records are the fence: another process has written to the turn (`Journal.J2`).
        Effect.catch((error) => Effect.succeed(error._tag === "JournalConflict" ? LOADED : refused(error))),
        Effect.ensuring(Effect.sync(claim.release))
      )
    })

  const carryOut: CarryOut = (commands, origin) =>
    Effect.forEach(commands, (command) => one(command, origin), { concurrency: "unbounded" })
  return carryOut
})

// --- internal

type OnDisk = (sure: Effect.Effect<void, StorageError>) => Effect.Effect<RunnerOutcome, StorageError | JournalConflict>
