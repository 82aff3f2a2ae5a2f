/**
 * A conversation on the runner that owns it: the local `Conversations`, restricted to this one, for as long as it is here.
 *
 * R1. It takes up its unsealed turns when it comes, and they stop, unsealed, when it goes: before another runner runs them, if
 *     this one knows that it has to go.
 * R2. A runner that does not know, because it was frozen or cut off, asks no provider, runs no tool and records nothing before it
 *     knows again (`Lease`), and is fenced by the journal: its turn stops at its next record (J2). It may be that the other one was late, and
 *     not this one. So whoever is stopped comes anew, from the records, for as long as it is the owner.
 * R3. While a turn of it runs it has to be held in memory; `busy` is called whenever that begins. When all of them are sealed, or
 *     the one at the head waits on disk, it may go, and leaves the alarm clock to call it back.
 * R4. A turn whose start was put off into a spread is not started earlier by somebody who looks at it.
 */
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Clock, Context, Deferred, Effect, Latch, Layer, References, type Scope, Stream } from "effect"
import * as Condition from "../conversation/Condition.ts"
import { Conversations, type TurnCounts } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as Orchestrator from "../conversation/Orchestrator.ts"
import { Providers } from "../conversation/Providers.ts"
import { Tools } from "../conversation/Tools.ts"
import { Timer } from "../durable/Timer.ts"
import { Journal, JournalConflict } from "../storage/Journal.ts"
import type { Standings } from "../storage/Standings.ts"
import { type StorageError, Store } from "../storage/Store.ts"
import type { AlarmClock } from "./AlarmClock.ts"

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

export type Requirements = Store | Journal | Standings | Timer | Providers | Tools | Defaults

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
  const parked = new ParkedTurn(yield* Timer, alarms.find(id)?.at ?? 0, busy)
  const leaving = yield* Deferred.make<void>()
  // What a runner records that has lost its lock would stop the next one, which comes too late for it. Nobody can interrupt an
  // append, so one that waits is told when this conversation goes.
  const append: Journal["Service"]["append"] = (turnId, seq, ...records) =>
    Effect.raceFirst(sure, Effect.andThen(Deferred.await(leaving), Effect.fail(new JournalConflict({ turnId })))).pipe(
      Effect.andThen(journal.append(turnId, seq, ...records))
    )
  const own = Layer.mergeAll(
    Layer.succeed(Store, { ...store, unsealedTurns: unsealed }),
    Layer.succeed(Journal, { ...journal, append }),
    Layer.succeed(Timer, parked.timer),
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
      const alarm = alarmOf(parked.until, yield* conversations.counts, yield* Clock.currentTimeMillis)
      parked.isLeaving = true
      alarms.leave(id, parked, alarm)
    })
  )
  alarms.arrive(id, parked)
  parked.startsAtEarliest = 0
  busy()

  const untilQuiet: Resident["untilQuiet"] = Effect.suspend(() =>
    parked.until !== undefined
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

/** The turn that waits on disk, as the timer knows it: whoever calls `Timer.at` here is `Parking`. */
class ParkedTurn {
  /** When it goes on, in epoch milliseconds; `undefined` while none waits. */
  until: number | undefined = undefined
  /** R4 */
  startsAtEarliest: number
  /** What is taken out of the timer from now on waits for the next resident. */
  isLeaving = false
  readonly timer: Timer["Service"]
  private readonly latch = Latch.makeUnsafe()

  constructor(timer: Timer["Service"], startsAtEarliest: number, left: () => void) {
    this.startsAtEarliest = startsAtEarliest
    this.timer = {
      ...timer,
      at: (endMs, wake) => {
        const startMs = Math.max(endMs, this.startsAtEarliest)
        const cancel = timer.at(startMs, wake)
        this.until = startMs
        this.latch.openUnsafe()
        return () => {
          cancel()
          this.until = undefined
          this.latch.closeUnsafe()
          if (!this.isLeaving) left()
        }
      }
    }
  }

  /** Waits until a turn waits here. */
  get await(): Effect.Effect<void> {
    return this.latch.await
  }
}

/** What it is to be called back for. */
const alarmOf = (until: number | undefined, { queued, retrying, running }: TurnCounts, now: number) => {
  if (until !== undefined) return { at: until, isWaiting: true, queued }
  return running + retrying + queued === 0 ? undefined : { at: now, isWaiting: retrying > 0, queued }
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
  toolbox: Effect.map(tools.toolbox, (toolbox) => ({
    // Other ones from one step to the next.
    get definitions() {
      return toolbox.definitions
    },
    run: (call) => Effect.andThen(sure, toolbox.run(call))
  }))
})
