/**
 * Runs one conversation on the runner that owns it, by the local `Conversations`.
 *
 * Resident.R1. It takes up its unsealed turns when it starts, and stops them, unsealed, when it ends: before another runner runs them, if
 *     this runner knows that it has to give the conversation up.
 * Resident.R2. A runner without that knowledge, because it was frozen or cut off, calls no provider, runs no tool and records nothing until
 *     its ownership is sure again (`Lease`). The journal fences it: its turn stops at its next record (`Journal.J2`). The other runner may
 *     be the late one. So a stopped turn runs again, from the records, for as long as this runner owns it (`TurnQueue`).
 * Resident.R3. While a turn runs the conversation has to stay in memory; `busy` is called whenever that begins. When all turns are sealed,
 *     or the first one waits on disk, it may leave memory, and the alarm clock calls it back. A turn whose time has come, and that its gate
 *     holds, stays: the gate would hold it again at each return.
 * Resident.R4. A turn with a delayed start (`Spread`) is not started earlier by a request for its conversation.
 * Resident.R5. A turn that has begun nothing since its last record counts as taken up by this process already: no process has died in its
 *     attempt (rule X14).
 * Resident.R6. The cluster removes all conversations that are idle in one stretch, every five seconds. At once the alarm clock takes over
 *     their waits; the rest of a removal waits for its slice of the event loop, so that a thousand of them hold up no request. A turn that
 *     runs is stopped at once (Resident.R1).
 */
import {
  Interruption,
  type Interruptions,
  JournalConflict,
  ProcessName,
  type StorageError,
  type Timer
} from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { defined, type Ids } from "@holdfast/wire"
import { Clock, Context, Deferred, Effect, Exit, Latch, References, type Scope } from "effect"
import * as Condition from "../system/Condition.ts"
import * as InScope from "../system/InScope.ts"
import type { Conversations } from "../conversation/Conversations.ts"
import { type TurnCounts } from "../conversation/Conversations.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as Orchestrator from "../orchestrator/Orchestrator.ts"
import type { Gates } from "../gate/Gates.ts"
import { ParkingPlace, type ParkingSpot, type Waiting } from "../turn/ParkingPlace.ts"
import { Providers } from "../conversation/Providers.ts"
import { type Offered, Tools } from "../conversation/Tools.ts"
import { Journal } from "../storage/EventJournal.ts"
import type { Standings } from "../storage/Standings.ts"
import type { Lists } from "../storage/Lists.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Store, type Unsealed } from "../storage/Store.ts"
import type { Alarm, AlarmClock } from "./AlarmClock.ts"
import type { Ownership } from "./Lease.ts"

/** A conversation in memory. */
export interface Resident {
  /** Its requests; other conversations are unknown. */
  readonly conversations: Conversations["Service"]
  /**
   * Waits until no turn runs: every turn is sealed, also turns that arrive meanwhile, or the first one waits on disk. Fails when a turn
   * was stopped (Resident.R2).
   */
  readonly untilQuiet: Effect.Effect<void, StorageError | TurnStopped.TurnStopped>
  /** Whether its first turn waits on disk. */
  readonly isAsleep: () => boolean
  /** Whether a provider's answer to a turn is streaming. */
  readonly isAnswering: () => boolean
}

/** The conversation, and the runner's part of it. */
export interface Options {
  readonly id: Ids.ConversationId
  readonly alarms: AlarmClock
  /** Whether this runner surely owns the conversation. */
  readonly ownership: Ownership
  /** Is called when the conversation has to stay in memory (Resident.R3). */
  readonly busy: () => void
  /** Waits for its turn to leave memory: the cluster removes all that are idle at once (Resident.R6). */
  readonly slice: Effect.Effect<void>
}

/** The services of a runner that a resident uses. */
export type Requirements =
  | Store
  | Journal
  | Standings
  | Lists
  | Interruptions.Interruptions
  | Timer.Timer
  | Providers
  | Gates
  | Tools
  | Defaults

/** Starts a resident, which lives as long as its scope. Its unsealed turns have been taken up when this returns. */
export const make = Effect.fnUntraced(function* ({
  id,
  alarms,
  ownership: { isSure, sure },
  busy,
  slice
}: Options): Effect.fn.Return<Resident, StorageError, Requirements | Scope.Scope> {
  const store = yield* Store
  // The turn of a held call is run where its client is (`HeldRunner`).
  const found = HeldCallIds.isHeld(id) ? Effect.succeed([]) : store.unsealedTurnsOf(id)
  const life = yield* ProcessName.ProcessName
  const unsealed = alarms.find(id)?.isUnbegun === true ? Effect.map(found, uninterrupted(life)) : found
  const journal = yield* Journal
  const parked = new ParkedTurn(id, alarms, busy)
  const leaving = yield* Deferred.make<void>()
  // A record by a runner without its lock would stop the next owner, which comes too late for it. An append cannot be interrupted, so a
  // waiting append ends when this conversation leaves.
  const fenced = (turnId: Ids.TurnId) =>
    Effect.suspend(() =>
      isSure()
        ? Effect.void
        : Effect.raceFirst(sure, Effect.andThen(Deferred.await(leaving), new JournalConflict({ turnId })))
    )
  const append: Journal["Service"]["append"] = (turnId, ...rest) =>
    Effect.andThen(fenced(turnId), journal.append(turnId, ...rest))
  const appendWith: Journal["Service"]["appendWith"] = (turnId, ...rest) =>
    Effect.andThen(fenced(turnId), journal.appendWith(turnId, ...rest))
  const appendAll: Journal["Service"]["appendAll"] = (appends) =>
    Effect.flatMap(
      Effect.forEach(appends, ({ turnId }) => Effect.exit(fenced(turnId))),
      (exits): ReturnType<typeof journal.appendAll> =>
        exits.every(Exit.isSuccess)
          ? journal.appendAll(appends)
          : Effect.succeed(exits.map((exit) => Exit.map(exit, () => undefined)))
    )
  const condition = Condition.make()
  const providers = sureOf(yield* Providers, sure)
  const tools = sureToolsOf(yield* Tools, sure)
  // Its own orchestrator. It does not log the turns that it takes up: `TakeOver` has done that.
  const { conversations } = yield* Effect.updateContext(
    Orchestrator.make({ takesUp: true }),
    (context: Context.Context<Requirements | Scope.Scope>) =>
      context.pipe(
        Context.add(Store, { ...store, unsealedTurns: unsealed }),
        Context.add(Journal, { ...journal, append, appendAll, appendWith }),
        Context.add(ParkingPlace, parked),
        Context.add(Providers, providers),
        Context.add(Tools, tools),
        Context.add(Condition.Condition, condition),
        Context.add(References.MinimumLogLevel, "Warn")
      )
  )
  yield* InScope.atEnd(Deferred.succeed(leaving, undefined))
  yield* condition.started
  let runs = false
  yield* InScope.atEnd(Effect.suspend(() => (runs ? Effect.void : slice))) // Resident.R6
  // Runs before the other finalizers: no turn has been stopped yet.
  yield* InScope.atEnd(
    Effect.gen(function* () {
      const counts = yield* conversations.counts
      const now = yield* Clock.currentTimeMillis
      const sleeping = parked.letGo()
      const alarm = alarmOf(sleeping, counts, now)
      runs = sleeping === undefined && alarm !== undefined
      alarms.leave(id, parked, alarm)
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
  return {
    conversations,
    untilQuiet,
    isAsleep: () => parked.isAsleep,
    isAnswering: () => Effect.runSync(condition.isAnswering)
  }
})

// --- internal

/** Resident.R5 */
const uninterrupted =
  (life: string) =>
  (turns: ReadonlyArray<Unsealed>): ReadonlyArray<Unsealed> =>
    turns.map((turn) => ({
      ...turn,
      interruption: { ...Interruption.none(life), defects: turn.interruption?.defects ?? 0 }
    }))

/** The turn of the conversation that waits on disk, if any. */
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

  /** Whether a turn sleeps; a turn that its gate holds does not (Resident.R3). */
  get isAsleep(): boolean {
    return this.sleeping !== undefined
  }

  /** Waits until a turn sleeps here; the caller may evict it at once, so its entry exists by then. */
  get await(): Effect.Effect<void> {
    return Effect.andThen(this.latch.await, Effect.yieldNow)
  }

  readonly take = ({ awaited, release, turnId, wakeAt }: Waiting): ParkingSpot => {
    const startAt = Math.max(wakeAt, this.alarms.find(this.id)?.at ?? 0) // Resident.R4
    const ticket = this.alarms.handOver(this.id)
    const sleeping = { turnId, awaited, release, until: startAt }
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

  /** Leaves the sleeping turn to the next resident: this resident does not wake it any more. */
  letGo(): Sleeping | undefined {
    const { sleeping } = this
    this.sleeping = undefined
    sleeping?.release()
    return sleeping
  }
}

interface Sleeping extends Pick<Waiting, "turnId" | "awaited" | "release"> {
  /** Epoch milliseconds. */
  readonly until: number
}

/** The alarm for its return to memory. */
const alarmOf = (
  sleeping: Sleeping | undefined,
  { queued, retrying, running }: TurnCounts,
  now: number
): Alarm | undefined => {
  if (sleeping === undefined) {
    return running + retrying + queued === 0 ? undefined : { at: now, isWaiting: retrying > 0, queued }
  }
  const { awaited, turnId, until } = sleeping
  return { at: until, isWaiting: true, queued, turnId, ...defined({ awaited }) }
}

/** Resident.R2 */
const sureOf = (providers: Providers["Service"], sure: Effect.Effect<void>): Providers["Service"] => ({
  ...providers,
  get: (...named) => {
    const provider = providers.get(...named)
    if (provider === undefined) return undefined
    const make = ProviderCall.of(provider)
    return ProviderCall.provider((request, world, listener) =>
      ProviderCall.behind(sure, world, listener, () => make(request, world, listener))
    )
  }
})

/** Resident.R2 */
const sureToolsOf = (tools: Tools["Service"], sure: Effect.Effect<void>): Tools["Service"] => ({
  ...tools,
  ...sureOfferOf(tools, sure),
  only: (names) => sureOfferOf(tools.only(names), sure)
})

const sureOfferOf = (offered: Offered, sure: Effect.Effect<void>): Offered => ({
  missing: offered.missing,
  isComplete: offered.isComplete,
  toolbox: Effect.map(offered.toolbox, (toolbox) => ({
    // Other ones from one step to the next.
    get definitions() {
      return toolbox.definitions
    },
    run: (...call) => Effect.andThen(sure, toolbox.run(...call))
  }))
})
