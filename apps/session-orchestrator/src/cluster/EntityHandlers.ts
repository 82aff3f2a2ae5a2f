/**
 * Passes the cluster's messages for a conversation on to its resident.
 *
 * EntityHandlers.H1. The conversation stays in memory while a turn of it runs or a client subscribes: the cluster evicts an entity
 *     without a request for `MAX_IDLE`, and `Stay` is a request that lasts as long as a turn runs. The alarm clock calls a waiting
 *     conversation back. A subscriber whose frames are not messages sends `Attend` (`LocalWatch`).
 * EntityHandlers.H2. A conversation with a stopped turn stays too: its queue runs the turn again from the records (`Resident.R2`).
 * EntityHandlers.H3. A runner that is not sure of its ownership accepts no turn, and neither accepts nor refuses a command: the owner
 *     would not learn of it. A caller waits for the ownership no longer than for a disk.
 */
import { Push } from "@holdfast/kernel/host"
import { Ids } from "@holdfast/wire"
import { Array as Arr, Channel, Effect, FiberSet, type Layer, type Pull, Schedule, Stream } from "effect"
import { Entity, type Sharding } from "effect/cluster"
import type { Conversations, Frame } from "../conversation/Conversations.ts"
import { Alarms } from "./Alarms.ts"
import { AnswerablePull } from "./AnswerablePull.ts"
import { type Batch, ConversationEntity } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"
import { HeldRunner } from "./HeldRunner.ts"
import * as Lease from "./Lease.ts"
import * as Resident from "./Resident.ts"
import type { Residents } from "./Residents.ts"
import * as Owner from "./Owner.ts"

type Requirements = Resident.Requirements | Sharding.Sharding | Alarms | HeldRunner | Lease.Lease

/** The entity, on this runner. */
export const layer = (residents: Residents): Layer.Layer<never, never, Requirements> => {
  return ConversationEntity.toLayer(
    Effect.gen(function* () {
      const { entityId, shardId } = yield* Entity.CurrentAddress
      const id = Ids.ConversationId.make(entityId)
      const alarms = yield* Alarms
      const lease = yield* Lease.Lease
      const sure = lease.sure(shardId)
      const owned = Lease.inTime(sure) // EntityHandlers.H3
      const fork = yield* FiberSet.makeRuntime()
      const client = (yield* ConversationEntity.client)(entityId)
      const stay = Effect.ignoreCause(client.Stay(undefined, { discard: true })) // EntityHandlers.H1
      yield* residents.claims.enter(id)
      const resident = yield* Effect.orDie(Resident.make({ id, alarms, sure, busy: () => void fork(stay) }))
      yield* residents.add(resident)
      yield* residents.arrive(id, resident.conversations)
      const held = yield* HeldRunner
      // A held call has an id in a shard of the runner that has its client (HeldRunner.R2).
      const own = (): Conversations["Service"] => held.find(id) ?? resident.conversations

      return ConversationEntity.of({
        Prompt: ({ payload }) => owned.pipe(Effect.andThen(own().prompt(id, payload)), Effect.tap(stay)),
        Retry: ({ payload }) => owned.pipe(Effect.andThen(own().retry(id, payload)), Effect.tap(stay)),
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
        Watch: ({ payload }) => batched(own().watch(id, payload.after)),
        WatchTurn: ({ payload }) => batched(own().watchTurn(payload.turnId, id)),
        EndStreams: () => own().endStreams(id),
        Stay: () => staying(resident),
        Attend: () => Effect.never
      })
    }),
    {
      // The resident orders the requests of one conversation, and keeps no caller waiting until a turn ends.
      concurrency: "unbounded",
      mailboxCapacity: "unbounded",
      maxIdleTime: MAX_IDLE,
      // One policy for all conversations, which does not depend on the state of one.
      defectRetryPolicy: Schedule.spaced("1 second")
    }
  )
}

// --- internal

/** As long as a wait that stays in memory; the cluster checks no more often. */
const MAX_IDLE = "5 seconds"

/** EntityHandlers.H2 */
const staying = ({ untilQuiet }: Resident.Resident): Effect.Effect<void> =>
  untilQuiet.pipe(
    Effect.tapErrorTag("StorageError", ({ message }) => Effect.logError(message)),
    Effect.retry({ schedule: Schedule.spaced("5 seconds"), while: ({ _tag }) => _tag === "StorageError" }),
    // Soon after a turn has stopped, its queue runs it again.
    Effect.retry({ schedule: Schedule.spaced("1 second"), while: ({ _tag }) => _tag === "TurnStopped" }),
    Effect.orDie
  )

/** One message for the frames that have come since the last one, and empty ones by which the owner is known to be there (`Owner.O6`). */
const batched = <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<Batch, E> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.gen(function* () {
        let opened: Pull.Pull<ReadonlyArray<Frame>, E> | undefined
        const open = Effect.flatMap(Channel.toPullScoped(Stream.toChannel(frames), scope), (pull) => (opened = pull))
        const source = Push.attach(
          Effect.suspend(() => opened ?? open),
          () => opened && Push.of(opened)
        )
        const answerable = new AnswerablePull<ReadonlyArray<Frame>, E, void>(source, scope)
        const sign = Effect.sync(() => answerable.answer(Effect.succeed(NO_FRAMES)))
        yield* Effect.forkIn(Effect.forever(Effect.delay(sign, Owner.SIGN_INTERVAL)), scope)
        // The subscription may wait for a database, and the first sign does not.
        yield* answerable.begin
        let isFirst = true
        return Effect.suspend((): Pull.Pull<Arr.NonEmptyReadonlyArray<Batch>, E> => {
          if (!isFirst) return Effect.map(answerable.next, (chunk) => Arr.of(Frames.toBatch(chunk)))
          isFirst = false
          return Effect.succeed(SIGN)
        })
      })
    )
  )

const NO_FRAMES: ReadonlyArray<Frame> = []

const SIGN = Arr.of<Batch>([])
