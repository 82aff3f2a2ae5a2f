/**
 * Finds the unsealed turns of a runner's shards, whoever had them before: at start, and when a shard comes over from a runner
 * that died or went.
 *
 * V1. Whenever a shard comes, the alarm is set for its conversations with unsealed turns: for those that wait at the end of their
 *     wait, without reading more than their last record.
 * V2. Turns whose time has passed, and turns that were in the middle of something, start in a spread and not all at once; those
 *     that somebody was reading come first.
 * V3. Nothing is asked of the database while no shard moves.
 */
import type { Ids } from "@holdfast/wire"
import { Clock, Effect, Schedule } from "effect"
import { Sharding } from "effect/cluster"
import * as RecordedWait from "../durable/RecordedWait.ts"
import * as Spread from "../durable/Spread.ts"
import { Journal } from "../storage/Journal.ts"
import { Store, type Unsealed } from "../storage/Store.ts"
import type { Alarm } from "./AlarmClock.ts"
import * as Alarms from "./Alarms.ts"

/** Runs for as long as the runner does. */
export const run = Effect.fnUntraced(function* (
  shards: number
): Effect.fn.Return<never, never, Store | Journal | Alarms.Alarms | Sharding.Sharding> {
  const store = yield* Store
  const journal = yield* Journal
  const sharding = yield* Sharding.Sharding
  const alarms = yield* Alarms.Alarms

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
    const turns = (yield* store.unsealedTurns).filter(({ conversationId }) =>
      come.has(Alarms.shardOf(sharding, conversationId))
    )
    const unfinished = yield* Effect.forEach(turns, (turn) =>
      Effect.map(RecordedWait.endOf(journal, turn), (wakeAt): Unfinished => ({ ...turn, wakeAt }))
    )
    const found = alarmsOf(unfinished, yield* Clock.currentTimeMillis)
    alarms.cover(come, found)
    if (turns.length > 0) {
      yield* Effect.logInfo(`Took over ${turns.length} unfinished turn(s) of ${found.size} conversation(s).`)
    }
  })

  return yield* look.pipe(
    Effect.catch(({ message }) => Effect.logError(`Turns could not be taken over yet. ${message}`)),
    Effect.repeat(Schedule.spaced(INTERVAL)),
    Effect.andThen(Effect.never)
  )
})

/** A turn that is not sealed, and the end of the wait that it is in, in epoch milliseconds, if it is in one. */
export interface Unfinished extends Pick<Unsealed, "turnId" | "conversationId"> {
  readonly wakeAt: number | undefined
}

/**
 * When each conversation has to be in memory, by its unsealed turns, oldest first.
 *
 * Only the head of a conversation waits on disk. One behind it has records if that one had stopped in its last life.
 */
export const alarmsOf = (turns: ReadonlyArray<Unfinished>, now: number): ReadonlyMap<Ids.ConversationId, Alarm> => {
  const heads = new Map<Ids.ConversationId, Alarm & Spread.Sleeper>()
  for (const { conversationId, turnId, wakeAt } of turns) {
    const head = heads.get(conversationId)
    if (head !== undefined) {
      heads.set(conversationId, { ...head, queued: head.queued + 1 })
      continue
    }
    heads.set(conversationId, {
      conversationId,
      turnId,
      wakeAt: wakeAt ?? 0, // V2
      at: wakeAt ?? now,
      isWaiting: wakeAt !== undefined,
      queued: 0
    })
  }
  const starts = Spread.startsOf(Array.from(heads.values()), now)
  return new Map(
    Array.from(heads, ([id, { at, isWaiting, queued, turnId }]) => [
      id,
      { at: starts.get(turnId) ?? at, isWaiting, queued }
    ])
  )
}

// --- internal

/** A look at some hundred flags in memory. */
const INTERVAL = "500 millis"
