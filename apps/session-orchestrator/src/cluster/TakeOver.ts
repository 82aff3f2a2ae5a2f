/**
 * Finds the unsealed turns of a runner's shards, at start and when a shard arrives.
 *
 * TakeOver.V1. When a shard arrives, the alarm is set for its conversations with unsealed turns: for a waiting turn at the end of its wait,
 *     without reading more than its last record.
 * TakeOver.V2. Turns whose time has passed, and turns that were interrupted in a call or a tool, start in a spread and not all at once.
 *     Turns with subscribers come first; turns that may end the process come last (rule X14).
 * TakeOver.V3. The database is not queried while no shard moves.
 * TakeOver.V4. Each take-over is logged: the number of turns, the earlier runner, and the progress of a long one.
 */
import { Interruption, RecordedWait, Spread } from "@holdfast/journal"
import { defined, type Ids } from "@holdfast/wire"
import { Clock, Effect, Schedule } from "effect"
import { Sharding } from "effect/cluster"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import * as Progress from "../system/Progress.ts"
import { Journal } from "../storage/EventJournal.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
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
    // The turn of a held call waits for its client (HeldCalls.H1).
    const turns = (yield* store.unsealedTurns).filter(
      ({ conversationId }) => !HeldCallIds.isHeld(conversationId) && come.has(Alarms.shardOf(sharding, conversationId))
    )
    const heads = new Set<Ids.ConversationId>()
    const begun = yield* Clock.currentTimeMillis
    const unfinished = yield* Effect.forEach(turns, (turn, n) => {
      if (heads.has(turn.conversationId)) return Effect.succeed<Unfinished>({ ...turn, wait: undefined })
      heads.add(turn.conversationId)
      const read = Effect.map(RecordedWait.currentBy(journal, turn), (wait): Unfinished => ({
        ...turn,
        wait: wait && {
          wakeAt: RecordedWait.wakeAt(wait, begun),
          awaited: Gates.waitOfRecord(gates, turn.turnId, wait, turn.model)
        }
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
    ) // TakeOver.V4
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
    if (come.size === 0) return // TakeOver.V3
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
    heads.push({ conversationId, turnId, wakeAt: wait?.wakeAt ?? (isSuspect ? now : 0) }) // TakeOver.V2
    alarms.set(conversationId, {
      at: wait?.wakeAt ?? now,
      isWaiting: wait !== undefined,
      queued: 0,
      ...(wait === undefined ? undefined : { turnId }),
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
