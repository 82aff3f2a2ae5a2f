/**
 * A conversation on the runner that owns it: the local `Conversations`, restricted to this one, for as long as it is here.
 *
 * R1. It takes up its unsealed turns when it comes, and they stop, unsealed, when it goes: before another runner runs them, if
 *     this one knows that it has to go.
 * R2. A runner that does not know, because it was frozen or cut off, asks no provider, runs no tool and records nothing before it
 *     knows again (`Lease`), and is fenced by the journal: its turn stops at its next record (J2). It may be that the other one was late, and
 *     not this one. So a turn that is stopped runs again, from the records, for as long as this runner owns it (`TurnQueue`).
 * R3. While a turn of it runs it has to be held in memory; `busy` is called whenever that begins. When all of them are sealed, or
 *     the one at the head waits on disk, it may go, and leaves the alarm clock to call it back. One whose time has come, and that
 *     its gate holds, stays: it would be held anew whenever it came back (K2).
 * R4. A turn whose start was put off into a spread is not started earlier by somebody who looks at it.
 */
import { JournalConflict, type StorageError, type Timer } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Context, Deferred, Effect, Latch, Layer, References, type Scope, Stream } from "effect"
import * as Condition from "../system/Condition.ts"
import { Conversations, type TurnCounts } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as Orchestrator from "../orchestrator/Orchestrator.ts"
import type { Gates } from "../gate/Gates.ts"
import { ParkingPlace, type ParkingSpot, type Waiting } from "../turn/ParkingPlace.ts"
import { Providers } from "../conversation/Providers.ts"
import { Tools } from "../conversation/Tools.ts"
import type { Interruptions } from "../storage/Interruptions.ts"
import { Journal } from "../storage/Journal.ts"
import type { Standings } from "../storage/Standings.ts"
import { Store } from "../storage/Store.ts"
import type { Alarm, AlarmClock } from "./AlarmClock.ts"

export interface Resident {
  readonly conversations: Conversations["Service"]
  /**
   * Waits until nothing of it runs: every turn is sealed, those that come meanwhile too, or the one at the head waits on disk.
   * Fails when one was stopped (R2).
   */
  readonly untilQuiet: Effect.Effect<void, StorageError | TurnStopped.TurnStopped>
  /** Whether a turn is in the middle of an answer. */
  readonly isAnswering: () => boolean
}

export interface Options {
  readonly id: Ids.ConversationId
  readonly alarms: AlarmClock
  /** Waits until it is sure that this runner owns it. */
  readonly sure: Effect.Effect<void>
  /** R3 */
  readonly busy: () => void
}

export type Requirements =
  | Store
  | Journal
  | Standings
  | Interruptions
  | Timer.Timer
  | Providers
  | Gates
  | Tools
  | Defaults

/** Lives as long as its scope. Its unsealed turns have been taken up when it is there. */
export const make = Effect.fnUntraced(function* ({
  id,
  alarms,
  sure,
  busy
}: Options): Effect.fn.Return<Resident, StorageError, Requirements | Scope.Scope> {
  const store = yield* Store
  const unsealed = store.unsealedTurnsOf(id)
  const journal = yield* Journal
  const parked = new ParkedTurn(id, alarms, busy)
  const leaving = yield* Deferred.make<void>()
  // What a runner records that has lost its lock would stop the next one, which comes too late for it. Nobody can interrupt an
  // append, so one that waits is told when this conversation goes.
  const fenced = (turnId: Ids.TurnId) =>
    Effect.raceFirst(sure, Effect.andThen(Deferred.await(leaving), Effect.fail(new JournalConflict({ turnId }))))
  const append: Journal["Service"]["append"] = (turnId, ...rest) =>
    Effect.andThen(fenced(turnId), journal.append(turnId, ...rest))
  const appendWith: Journal["Service"]["appendWith"] = (turnId, ...rest) =>
    Effect.andThen(fenced(turnId), journal.appendWith(turnId, ...rest))
  const own = Layer.mergeAll(
    Layer.succeed(Store, { ...store, unsealedTurns: unsealed }),
    Layer.succeed(Journal, { ...journal, append, appendWith }),
    Layer.succeed(ParkingPlace, parked),
    Layer.succeed(Providers, sureOf(yield* Providers, sure)),
    Layer.succeed(Tools, sureToolsOf(yield* Tools, sure)),
    Layer.fresh(Condition.layer)
  )
  // An orchestrator of its own, whatever the layers around it share. What each of them took up is no news: `TakeOver` told.
  const context = yield* Layer.build(Layer.fresh(Orchestrator.layer).pipe(Layer.provideMerge(own))).pipe(
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
  yield* Effect.addFinalizer(() => Deferred.succeed(leaving, undefined))
  const conversations = Context.get(context, Conversations)
  const condition = Context.get(context, Condition.Condition)
  yield* condition.started
  // Runs first of all that ends with it: nothing has been stopped yet.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      const counts = yield* conversations.counts
      const now = yield* Clock.currentTimeMillis
      alarms.leave(id, parked, alarmOf(parked.letGo(), counts, now))
    })
  )
  alarms.arrive(id, parked)
  busy()

  const untilQuiet: Resident["untilQuiet"] = Effect.suspend(() =>
    parked.isAsleep
      ? Effect.void
      : Effect.flatMap(unsealed, ([first]) =>
          first === undefined
            ? Effect.void
            : Effect.andThen(Effect.raceFirst(conversations.result(first.turnId), parked.await), untilQuiet)
        )
  )
  return { conversations, untilQuiet, isAnswering: () => Effect.runSync(condition.isAnswering) }
})

// --- internal

/** The turn that waits on disk, in memory or out of it. */
class ParkedTurn {
  private sleeping: Sleeping | undefined = undefined
  private readonly id: Ids.ConversationId
  private readonly alarms: AlarmClock
  private readonly busy: () => void
  private readonly latch = Latch.makeUnsafe()

  constructor(id: Ids.ConversationId, alarms: AlarmClock, busy: () => void) {
    this.id = id
    this.alarms = alarms
    this.busy = busy
  }

  /** Whether one sleeps; one that its gate holds does not (R3). */
  get isAsleep(): boolean {
    return this.sleeping !== undefined
  }

  /** Waits until a turn sleeps here; whoever hears of it may let it go at once, so it has to be there by then. */
  get await(): Effect.Effect<void> {
    return Effect.andThen(this.latch.await, Effect.yieldNow)
  }

  readonly take = ({ awaited, letGo, wakeAt }: Waiting): ParkingSpot => {
    const startAt = Math.max(wakeAt, this.alarms.find(this.id)?.at ?? 0) // R4
    const ticket = this.alarms.handOver(this.id)
    const sleeping = { awaited, letGo, until: startAt }
    this.sleeping = sleeping
    this.latch.openUnsafe()
    const left = (): void => {
      if (this.sleeping !== sleeping) return
      this.sleeping = undefined
      this.latch.closeUnsafe()
      this.busy()
    }
    return { startAt, ticket, left }
  }

  /** What sleeps here waits for the next resident: nothing wakes it any more. */
  letGo(): Sleeping | undefined {
    const { sleeping } = this
    this.sleeping = undefined
    sleeping?.letGo()
    return sleeping
  }
}

interface Sleeping extends Pick<Waiting, "awaited" | "letGo"> {
  /** Epoch milliseconds. */
  readonly until: number
}

/** What it is to be called back for. */
const alarmOf = (
  sleeping: Sleeping | undefined,
  { queued, retrying, running }: TurnCounts,
  now: number
): Alarm | undefined => {
  if (sleeping === undefined) {
    return running + retrying + queued === 0 ? undefined : { at: now, isWaiting: retrying > 0, queued }
  }
  const { awaited, until } = sleeping
  return { at: until, isWaiting: true, queued, ...(awaited === undefined ? undefined : { awaited }) }
}

/** R2 */
const sureOf = (providers: Providers["Service"], sure: Effect.Effect<void>): Providers["Service"] => ({
  ...providers,
  get: (...named) => {
    const provider = providers.get(...named)
    return provider && { stream: (request) => Stream.unwrap(Effect.map(sure, () => provider.stream(request))) }
  }
})

/** R2 */
const sureToolsOf = (tools: Tools["Service"], sure: Effect.Effect<void>): Tools["Service"] => ({
  ...tools,
  toolbox: Effect.map(tools.toolbox, (toolbox) => ({
    // Other ones from one step to the next.
    get definitions() {
      return toolbox.definitions
    },
    run: (call) => Effect.andThen(sure, toolbox.run(call))
  }))
})
