/**
 * Passes the cluster's messages for a conversation on to its resident.
 *
 * EntityHandlers.H1. The conversation stays in memory while a turn of it runs or a client subscribes: the cluster evicts an entity
 *     without a request for `MAX_IDLE_MS`, and `Stay` is a request that lasts as long as a turn runs. The alarm clock calls a waiting
 *     conversation back. A subscriber whose frames are not messages sends `Attend` (`LocalWatch`).
 * EntityHandlers.H2. A conversation with a stopped turn stays too: its queue runs the turn again from the records (`Resident.R2`).
 * EntityHandlers.H3. A runner that is not sure of its ownership accepts no turn, and neither accepts nor refuses a command: the owner
 *     would not learn of it. A caller waits for the ownership no longer than for a disk.
 */
import { Ids } from "@holdfast/wire"
import { Interruptions, ProcessName, Timer } from "@holdfast/journal"
import { Observer } from "@holdfast/kernel"
import { Clock, Context, Effect, Layer, Logger, Random, References, Schedule, Scope, Tracer } from "effect"
import { Entity, Sharding } from "effect/cluster"
import type { Conversations } from "../conversation/Conversations.ts"
import { Defaults } from "../conversation/Defaults.ts"
import { Providers } from "../conversation/Providers.ts"
import { Tools } from "../conversation/Tools.ts"
import { Gates } from "../gate/Gates.ts"
import { Quarantine } from "../pacing/Quarantine.ts"
import { Journal } from "../storage/EventJournal.ts"
import { Lists } from "../storage/Lists.ts"
import { Standings } from "../storage/Standings.ts"
import { Tenancy } from "../storage/sqlite/Tenancy.ts"
import { Store } from "../storage/Store.ts"
import * as InScope from "../system/InScope.ts"
import { Alarms } from "./Alarms.ts"
import * as Batches from "./Batches.ts"
import { ConversationEntity } from "./ConversationEntity.ts"
import { HeldRunner } from "./HeldRunner.ts"
import * as Lease from "./Lease.ts"
import * as Resident from "./Resident.ts"
import type { Residents } from "./Residents.ts"
import { MAX_IDLE_MS, Staying } from "./Staying.ts"

type Requirements = Resident.Requirements | Sharding.Sharding | Alarms | HeldRunner | Lease.Lease

/** The entity, on this runner. */
export const layer = (residents: Residents): Layer.Layer<never, never, Requirements> =>
  Layer.effectDiscard(
    Effect.flatMap(Sharding.Sharding, (sharding) =>
      sharding.registerEntity(ConversationEntity, handlers(residents), {
        // The resident orders the requests of one conversation, and keeps no caller waiting until a turn ends.
        concurrency: "unbounded",
        mailboxCapacity: "unbounded",
        // As long as a wait that stays in memory; the cluster checks no more often.
        maxIdleTime: MAX_IDLE_MS,
        // One policy for all conversations, which does not depend on the state of one.
        defectRetryPolicy: Schedule.spaced("1 second")
      })
    ).pipe(Effect.updateContext((all: Context.Context<Requirements | Scope.Scope>) => Context.pick(...USED)(all)))
  )

// --- internal

const handlers = Effect.fnUntraced(function* (residents: Residents) {
  const { entityId, shardId } = yield* Entity.CurrentAddress
  const id = Ids.ConversationId.make(entityId)
  const alarms = yield* Alarms
  const lease = yield* Lease.Lease
  const ownership = lease.of(shardId)
  const owned = Lease.inTime(ownership) // EntityHandlers.H3
  const client = (yield* ConversationEntity.client)(entityId)
  const stay = Effect.ignoreCause(client.Stay(undefined, { discard: true }))
  const fork = yield* InScope.fork
  const clock = yield* Clock.Clock
  let isAsleep = (): boolean => false
  const staying = new Staying({
    timer: yield* Timer.Timer,
    now: () => clock.currentTimeMillisUnsafe(),
    send: () => void fork(stay),
    isAsleep: () => isAsleep()
  })
  yield* InScope.atEnd(Effect.sync(() => staying.close()))
  yield* residents.claims.enter(id)
  const resident = yield* Effect.orDie(
    Resident.make({ id, alarms, ownership, busy: () => staying.busy(), slice: residents.slice })
  )
  isAsleep = resident.isAsleep
  yield* residents.add(resident)
  yield* residents.arrive(id, resident.conversations)
  const held = yield* HeldRunner
  // A held call has an id in a shard of the runner that has its client (HeldRunner.R2).
  const own = (): Conversations["Service"] => held.find(id) ?? resident.conversations
  const busy = Effect.sync(() => staying.busy())

  return ConversationEntity.of({
    Prompt: ({ payload }) => owned.pipe(Effect.andThen(own().prompt(id, payload)), Effect.tap(busy)),
    Retry: ({ payload }) => owned.pipe(Effect.andThen(own().retry(id, payload)), Effect.tap(busy)),
    Head: () =>
      owned.pipe(
        Effect.andThen(own().state(id)),
        Effect.map(({ turnId }) => turnId ?? null)
      ),
    Abort: ({ payload }) => Effect.andThen(owned, own().abort(id, payload.turnId)),
    Steer: ({ payload }) => Effect.andThen(owned, own().steer(payload.command, payload.origin, payload.turnId)),
    SetAutoRetry: ({ payload }) => Effect.andThen(owned, own().setAutoRetry(id, payload.enabled)),
    SetModel: ({ payload }) => Effect.andThen(owned, own().setModel(id, payload.model, payload)),
    SetToolAnswers: ({ payload }) => Effect.andThen(owned, own().setToolAnswers(id, payload.toolAnswers)),
    State: () => own().state(id),
    Result: ({ payload }) => own().result(payload.turnId, id),
    Watch: ({ payload }) => Batches.of(own().watch(id, payload.after)),
    WatchTurn: ({ payload }) => Batches.of(own().watchTurn(payload.turnId, id)),
    EndStreams: () => own().endStreams(id),
    Stay: () => staying.while(untilQuiet(resident)),
    Attend: () => Effect.never
  })
})

/**
 * The services that conversations use. The cluster copies the services of an entity for each conversation and each of its requests, and
 * the process has three times as many.
 */
const USED = [
  Store,
  Journal,
  Standings,
  Lists,
  Interruptions.Interruptions,
  Timer.Timer,
  Providers,
  Gates,
  Tools,
  Defaults,
  Sharding.Sharding,
  Alarms,
  HeldRunner,
  Lease.Lease,
  Scope.Scope,
  Observer.Observer,
  Quarantine,
  Tenancy,
  ProcessName.ProcessName,
  Clock.Clock,
  Random.Random,
  Tracer.Tracer,
  Logger.CurrentLoggers,
  References.MinimumLogLevel
] as const

/** EntityHandlers.H2 */
const untilQuiet = (resident: Resident.Resident): Effect.Effect<void> =>
  Effect.catchTags(resident.untilQuiet, {
    StorageError: ({ message }) =>
      Effect.logError(message).pipe(Effect.andThen(Effect.sleep("5 seconds")), Effect.andThen(untilQuiet(resident))),
    // Soon after a turn has stopped, its queue runs it again.
    TurnStopped: () => Effect.andThen(Effect.sleep("1 second"), untilQuiet(resident))
  })
