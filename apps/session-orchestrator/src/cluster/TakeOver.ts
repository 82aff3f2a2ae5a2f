/**
 * Finds the unsealed turns of a runner's shards, whoever had them before: at start, and when a shard comes over from a runner
 * that died or went.
 *
 * V1. Whenever a shard comes, the alarm is set for its conversations with unsealed turns: for those that wait at the end of their
 *     wait, without reading more than their last record.
 * V2. Turns whose time has passed, and turns that were in the middle of something, start in a spread and not all at once; those
 *     that somebody was reading come first.
 *     Those that may take the process down come last (X14).
 * V3. Nothing is asked of the database while no shard moves.
 * V4. The log has each take-over: how many turns, from which runner; and how far one is that takes long.
 */
import { Interruption, RecordedWait, Spread } from "@holdfast/journal"
import { defined, type Ids } from "@holdfast/wire"
import { Clock, Effect, Schedule } from "effect"
import { Sharding } from "effect/cluster"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import * as Progress from "../system/Progress.ts"
import { Journal } from "../storage/Journal.ts"
import { Store, type Unsealed } from "../storage/Store.ts"
import type { Alarm } from "./AlarmClock.ts"
import * as Alarms from "./Alarms.ts"
import type { Neighbours } from "./Neighbours.ts"

/** Runs for as long as the runner does. */
export const run = Effect.fnUntraced(function* (
  shards: number,
  neighbours: Neighbours
): Effect.fn.Return<never, never, Store | Journal | Gates.Gates | Alarms.Alarms | Sharding.Sharding> {
  const store = yield* Store
  const journal = yield* Journal
  const sharding = yield* Sharding.Sharding
  const gates = yield* Gates.Gates
  const alarms = yield* Alarms.Alarms

  const takeOver = Effect.fnUntraced(function* (come: ReadonlySet<number>, progress: Progress.Progress) {
    const turns = (yield* store.unsealedTurns).filter(({ conversationId }) =>
      come.has(Alarms.shardOf(sharding, conversationId))
    )
    const heads = new Set<Ids.ConversationId>()
    const unfinished = yield* Effect.forEach(turns, (turn, n) => {
      if (heads.has(turn.conversationId)) return Effect.succeed<Unfinished>({ ...turn, wait: undefined })
      heads.add(turn.conversationId)
      const read = Effect.map(RecordedWait.currentBy(journal, turn), (wait): Unfinished => ({
        ...turn,
        wait: wait && { wakeAt: wait.retryAt, awaited: Gates.waitOfRecord(gates, wait, turn.model) }
      }))
      return Effect.andThen(
        progress.at(() => `${n} of ${turns.length} read`),
        read
      )
    })
    const now = yield* Clock.currentTimeMillis
    const found = alarmsOf(unfinished, now)
    alarms.cover(come, found)
    if (turns.length === 0 && neighbours.gone(now).length === 0) return
    yield* Effect.logInfo(
      `Took over ${turns.length} unfinished turn(s) of ${found.size} conversation(s), in ${come.size} of ${shards} shards, ` +
        `from ${neighbours.origin(now)}.`
    ) // V4
  })

  const look = Effect.gen(function* () {
    const come = new Set<number>()
    const gone = new Set<number>()
    for (let shard = 1; shard <= shards; shard++) {
      if (Alarms.owns(sharding, shard) === alarms.isCovered(shard)) continue
      if (alarms.isCovered(shard)) gone.add(shard)
      else come.add(shard)
    }
    if (gone.size > 0) alarms.uncover(gone)
    if (come.size === 0) return // V3
    yield* Progress.reported("Taking over unfinished turns", (progress) => takeOver(come, progress))
  })

  return yield* look.pipe(
    Effect.catch(({ message }) => Effect.logError(`Turns could not be taken over yet. ${message}`)),
    Effect.repeat(Schedule.spaced(INTERVAL)),
    Effect.andThen(Effect.never)
  )
})

/** A turn that is not sealed, and the wait that it is in, if it is in one. */
export interface Unfinished extends Pick<Unsealed, "turnId" | "conversationId" | "interruption"> {
  readonly wait:
    | {
        /** Epoch milliseconds. */
        readonly wakeAt: number
        readonly awaited: GateWait | undefined
      }
    | undefined
}

/**
 * When each conversation has to be in memory, by its unsealed turns, oldest first.
 *
 * Only the head of a conversation waits on disk. One behind it has records if that one had stopped in its last life.
 */
export const alarmsOf = (turns: ReadonlyArray<Unfinished>, now: number): ReadonlyMap<Ids.ConversationId, Alarm> => {
  const alarms = new Map<Ids.ConversationId, Alarm>()
  const heads: Array<Spread.Sleeper> = []
  for (const { conversationId, interruption, turnId, wait } of turns) {
    const alarm = alarms.get(conversationId)
    if (alarm !== undefined) {
      alarms.set(conversationId, { ...alarm, queued: alarm.queued + 1 })
      continue
    }
    const isSuspect = (interruption?.deaths ?? 0) >= Interruption.SUSPECT - 1 // with the death that it is taken over for
    heads.push({ conversationId, turnId, wakeAt: wait?.wakeAt ?? (isSuspect ? now : 0) }) // V2
    alarms.set(conversationId, {
      at: wait?.wakeAt ?? now,
      isWaiting: wait !== undefined,
      queued: 0,
      ...defined({ awaited: wait?.awaited })
    })
  }
  const starts = Spread.startsOf(heads, now)
  for (const { conversationId, turnId } of heads) {
    const alarm = alarms.get(conversationId)
    const at = starts.get(turnId)
    if (alarm !== undefined && at !== undefined) alarms.set(conversationId, { ...alarm, at })
  }
  return alarms
}

// --- internal

/** A look at some hundred flags in memory. */
const INTERVAL = "500 millis"
