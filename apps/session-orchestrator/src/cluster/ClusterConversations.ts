/**
 * `Conversations` on any runner: whatever concerns a conversation goes to the runner that owns it.
 *
 * C1. A message whose owner goes is sent again, to the next one. So turns and commands get their ids here, before they are
 *     sent, and are the same turn and the same command when they come twice; and a command names the turn that it is for.
 * C2. A stream goes on at the next owner after the last id that came; what was transient is told anew, as it is to a client
 *     that connects again (X3).
 * C3. What needs no owner is done here: a conversation is created, and its history read, in the database.
 */
import { Ids } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, Layer, Option, Schedule, Stream } from "effect"
import type { ClusterError, Sharding } from "effect/cluster"
import { Conversations, type Frame } from "../conversation/Conversations.ts"
import { StorageError, Store } from "../storage/Store.ts"
import * as TurnIds from "../storage/TurnIds.ts"
import { type Batch, ConversationEntity } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"
import type { Residents } from "./Residents.ts"

/**
 * Routes over the cluster.
 *
 * @param unowned does what needs no owner (C3); runs no turns
 * @param residents what this runner owns
 */
export const layer = <E, R>(
  unowned: Layer.Layer<Conversations, E, R>,
  residents: Residents
): Layer.Layer<Conversations, E, R | Store | Sharding.Sharding> =>
  Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { create, messages } = yield* Conversations
      const store = yield* Store
      const client = yield* ConversationEntity.client
      /** The turn that a command is meant for (C1). */
      const headOf = (id: Ids.ConversationId) => Effect.map(reached(client(id).State()), ({ turnId }) => turnId)
      const ownerOf = (turnId: Ids.TurnId) =>
        Effect.flatMap(
          store.turn(turnId),
          Option.match({
            onNone: () => Effect.die(new Error(`turn ${turnId} was never accepted`)),
            onSome: ({ conversationId }) => Effect.succeed(client(conversationId))
          })
        )

      return Conversations.of({
        create,
        messages,
        counts: residents.counts,
        prompt: (id, { prompt, turnId = TurnIds.make() }) => reached(client(id).Prompt({ prompt, turnId })),
        retry: (id, { turnId = TurnIds.make() }) => reached(client(id).Retry({ turnId })),
        abort: (id, meant) =>
          Effect.flatMap(meant === undefined ? headOf(id) : Effect.succeed(meant), (turnId) =>
            turnId === undefined ? Effect.succeed(false) : reached(client(id).Abort({ turnId }))
          ),
        steer: (steering, origin, meant) => {
          const { commandId = newCommandId(), conversationId } = steering
          const command = { ...steering, commandId }
          return Effect.flatMap(meant === undefined ? headOf(conversationId) : Effect.succeed(meant), (turnId) =>
            reached(client(conversationId).Steer({ command, origin, ...(turnId === undefined ? {} : { turnId }) }))
          )
        },
        setAutoRetry: (id, enabled) => reached(client(id).SetAutoRetry({ enabled })),
        state: (id) => reached(client(id).State()),
        result: (turnId) => Effect.flatMap(ownerOf(turnId), (owner) => reached(owner.Result({ turnId }))),
        watch: (id, after) =>
          followed(
            after,
            (after) => client(id).Watch({ after }),
            () => false
          ),
        watchTurn: (turnId) =>
          Stream.unwrap(
            Effect.map(ownerOf(turnId), (owner) =>
              // A turn's events are told from its first: those that came before are left out again.
              followed(0, () => owner.WatchTurn({ turnId }), Frames.isEnd)
            )
          ).pipe(Stream.catchTag("ConversationNotFound", Stream.die))
      })
    })
  ).pipe(Layer.provide(Layer.fresh(unowned)))

// --- internal

type Unreached =
  | ClusterError.MailboxFull
  | ClusterError.AlreadyProcessingMessage
  | ClusterError.PersistenceError
  | ClusterError.EntityNotAssignedToRunner

interface Tagged {
  readonly _tag: string
}

const newCommandId = (): Ids.CommandId => Ids.CommandId.make(globalThis.crypto.randomUUID())

/** Between two tries to reach an owner. One that died is replaced within 20 seconds; then whoever waits should be told. */
const INTERVAL = Schedule.spaced("200 millis")
const TRIES = 150

/** The owner went while it was asked. */
class OwnerGone {
  readonly _tag = "OwnerGone"
}

/** Asks again while there is no owner, and while the one that there is goes. */
const reached = <A, E extends Tagged>(call: Effect.Effect<A, E | Unreached>): Effect.Effect<A, E | StorageError> =>
  Effect.catchCause(call, (cause): Effect.Effect<never, E | Unreached | OwnerGone> =>
    // This fiber was not interrupted: it would not have come here.
    Cause.hasInterruptsOnly(cause) ? Effect.fail(new OwnerGone()) : Effect.failCause(cause)
  ).pipe(
    Effect.retry({ schedule: INTERVAL, times: TRIES, while: isPassing }),
    Effect.mapError((error) => (isUnreached(error) ? outOfReach(error) : error))
  )

/** Watches one owner after the other (C2), up to the last frame. */
const followed = <E extends Tagged>(
  after: number,
  open: (after: number) => Stream.Stream<Batch, E | Unreached>,
  isLast: (frame: Frame) => boolean
): Stream.Stream<Frame, E | StorageError> =>
  Stream.suspend(() => {
    let last = after
    let isOver = false
    const isNew = (frame: Frame): boolean => {
      if (frame.id === undefined) return true
      if (frame.id <= last) return false
      last = frame.id
      isOver = isLast(frame)
      return true
    }
    const ended = Stream.suspend((): Stream.Stream<never, OwnerGone> =>
      isOver ? Stream.empty : Stream.fail(new OwnerGone())
    )
    return Stream.suspend(() => open(last)).pipe(
      Stream.map((batch) => Frames.fromBatch(batch).filter(isNew)),
      Stream.filter((frames) => Arr.isReadonlyArrayNonEmpty(frames)),
      Stream.flattenArray,
      Stream.concat(ended),
      Stream.catchCause((cause): Stream.Stream<never, E | Unreached | OwnerGone> =>
        Cause.hasInterruptsOnly(cause) ? Stream.fail(new OwnerGone()) : Stream.failCause(cause)
      ),
      Stream.retry(($) => $(INTERVAL).pipe(Schedule.while(({ input }) => isPassing(input)))),
      Stream.mapError((error) => (isUnreached(error) ? outOfReach(error) : error))
    )
  })

/** `TurnStopped`: its owner goes, or begins anew; the turn goes on. */
const PASSING: ReadonlySet<string> = new Set(["OwnerGone", "EntityNotAssignedToRunner", "ShuttingDown", "TurnStopped"])

const isPassing = ({ _tag }: Tagged): boolean => PASSING.has(_tag)

const UNREACHED: ReadonlySet<string> = new Set([
  "OwnerGone",
  "EntityNotAssignedToRunner",
  "MailboxFull",
  "AlreadyProcessingMessage",
  "PersistenceError"
])

const isUnreached = (error: Tagged): error is Unreached | OwnerGone => UNREACHED.has(error._tag)

const outOfReach = ({ _tag }: Unreached | OwnerGone): StorageError =>
  new StorageError({
    message:
      `No runner could be reached that owns this conversation (${_tag}). What was accepted is not lost. Check that the ` +
      "runners can reach each other at their cluster.runner addresses, then try again."
  })
