/**
 * Calls the owner of a conversation, while owners change.
 *
 * Owner.O1. When the owner goes during a call, the call is made again, to the next owner.
 * Owner.O2. When the owner of a stream goes, the stream is opened again after the last id that was received. Transient events are sent
 *     again, as for a client that reconnects: text follows the `step-start` that begins it again (rule X3).
 * - A subscriber of a stopped turn opens its stream again soon, and less and less often while no event comes: the turn may stop
 *   each time it runs.
 * - The limit is a time, not a number of tries: a single try at a runner that does not answer may take all of it. A stream has none.
 * - While the database is away, or accepts no writes, a caller waits a few seconds at most and gets that as the reason, whether
 *   tries fail or one does not answer: ownership is a lock in the database.
 * Owner.O6. A runner that froze just before a call never answers, and the cluster does not fail that call when it gives the conversation to
 *     another runner. So an owner sends an empty message at once and every few seconds: a stream without them is opened again.
 */
import { DatabaseWait } from "@holdfast/journal/sql"
import { Push } from "@holdfast/kernel/host"
import { StorageError } from "@holdfast/journal"
import {
  Array as Arr,
  Cause,
  Channel,
  Duration,
  Effect,
  Exit,
  Option,
  type Pull,
  Schedule,
  Scope,
  Stream
} from "effect"
import type { ClusterError } from "effect/cluster"
import type { Frame } from "../engine/conversation/Conversations.ts"
import * as Frames from "./Frames.ts"
import type { Elsewhere } from "./Shards.ts"

/** The cluster's errors about an owner that does not answer. */
export type Unreached =
  | ClusterError.MailboxFull
  | ClusterError.AlreadyProcessingMessage
  | ClusterError.PersistenceError
  | ClusterError.EntityNotAssignedToRunner
  | Elsewhere
  | OwnerGone

/** An error by its name. */
export interface Tagged {
  readonly _tag: string
}

/**
 * Repeats a call while the conversation has no owner, or its owner leaves (Owner.O1), for `REACH_LIMIT` in all.
 *
 * @param check whether there is a database, soon: without one there is no owner
 */
export const reached =
  (check: Effect.Effect<void, StorageError>) =>
  <A, E extends Tagged>(
    call: Effect.Effect<A, E | Unreached>,
    /** Whether the owner is this process, and does not go: such a call has the limits of its own. */
    isHere: () => boolean = () => false
  ): Effect.Effect<A, E | StorageError> => {
    const again: Effect.Effect<A, E | Unreached> = Effect.catchCauseIf(call, isGoing, () =>
      Effect.delay(again, INTERVAL_MS)
    )
    const limited = again.pipe(
      DatabaseWait.unless<E | Unreached | StorageError>(lost(check)),
      DatabaseWait.within<E | Unreached | StorageError>(REACH_LIMIT, () => OUT_OF_REACH)
    )
    return Effect.mapError(
      Effect.suspend(() => (isHere() ? Effect.catchCauseIf(call, isGoing, () => limited) : limited)),
      named
    )
  }

/**
 * Watches one owner after the other (Owner.O2), up to the last frame. A push of an owner in this process is kept (`Push`): a delta takes no fiber.
 *
 * @param after the id of the last event that the watcher has
 * @param open watches the present owner
 */
export const followed = <E extends Tagged>(
  after: number,
  open: (after: number) => Stream.Stream<Frame, E | Unreached>,
  isLast: (frame: Frame) => boolean
): Stream.Stream<Frame, E | StorageError> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.sync(() => {
        let owner: { readonly pull: Pull.Pull<Chunk, E | Unreached>; readonly scope: Scope.Closeable } | undefined
        /** The last id received here. The owner leaves out the events that the subscriber has: it knows whether such an id ever existed. */
        let last = 0
        let isOver = false
        let tries = 0

        const opened = Effect.gen(function* () {
          const inner = yield* Scope.fork(scope)
          const frames = Stream.toChannel(open(last === 0 ? after : last))
          owner = { pull: yield* Channel.toPullScoped(frames, inner), scope: inner }
          return yield* owner.pull
        })
        /** The frames that are new. */
        const seen = (chunk: Chunk): Chunk | undefined => {
          tries = 0
          const isKnown = ({ id }: Frame) => id !== undefined && id <= last
          const frames = chunk.some(isKnown) ? chunk.filter((frame) => !isKnown(frame)) : chunk
          for (const frame of frames) {
            if (frame.id === undefined) continue
            last = frame.id
            isOver = isLast(frame)
          }
          return Arr.isReadonlyArrayNonEmpty(frames) ? frames : undefined
        }
        /** The next owner is watched after a failure that passes, and after an end that is none. */
        const failed = (cause: Cause.Cause<E | Unreached | Cause.Done<void>>): Pull.Pull<Chunk, E | StorageError> => {
          const error = Option.getOrUndefined(Cause.findErrorOption(cause))
          if (error === undefined && !Cause.hasInterruptsOnly(cause)) return Effect.die(Cause.squash(cause))
          if (error !== undefined && !Cause.isDone(error) && !isPassing(error)) return Effect.fail(error)
          const closed = owner === undefined ? Effect.void : Scope.close(owner.scope, Exit.void)
          owner = undefined
          const grown = Math.min(INTERVAL_MS * 1.5 ** tries++, LONGEST_MS)
          const isStopped = error !== undefined && !Cause.isDone(error) && error._tag === "TurnStopped"
          return Effect.andThen(closed, Effect.delay(next, isStopped ? grown : INTERVAL_MS))
        }
        const next: Pull.Pull<Chunk, E | StorageError> = Effect.suspend(() =>
          isOver
            ? Cause.done()
            : Effect.matchCauseEffect(owner?.pull ?? opened, {
                onFailure: failed,
                onSuccess: (chunk) => {
                  const frames = seen(chunk)
                  return frames === undefined ? next : Effect.succeed(frames)
                }
              })
        )
        return Push.through(
          next,
          () => owner?.pull,
          seen,
          () => isOver
        )
      })
    )
  )

/**
 * The frames of an owner in another process, which gives a sign of life from time to time (Owner.O6). Each message is an array of its own: those
 * that are delivered again come with others, and what is known is looked for in each by itself.
 */
export const received = <E>(batches: Stream.Stream<Frames.Batch, E>): Stream.Stream<Frame, E | OwnerGone> =>
  Stream.transformPull(batches, (pull) =>
    Effect.sync(() => {
      let limit = ANSWER_LIMIT
      return Effect.suspend(() =>
        Effect.map(
          Effect.timeoutOrElse(pull, { duration: limit, orElse: () => Effect.fail(new OwnerGone()) }),
          (received) => {
            limit = SILENCE_LIMIT
            return received
          }
        )
      )
    })
  ).pipe(
    Stream.map(Frames.fromBatch),
    Stream.filter((frames) => Arr.isReadonlyArrayNonEmpty(frames)),
    Stream.flattenArray
  )

// --- internal

/** Fails when the database is away. A database may be slow for a moment, so the check is made twice. */
const lost = (check: Effect.Effect<void, StorageError>): Effect.Effect<never, StorageError> =>
  check.pipe(
    Effect.retry({ times: 1, schedule: Schedule.spaced(CHECK_INTERVAL) }),
    Effect.andThen(Effect.sleep(CHECK_INTERVAL)),
    Effect.forever,
    Effect.delay(CHECK_AFTER)
  )

type Chunk = Arr.NonEmptyReadonlyArray<Frame>

/** Between two tries to reach an owner. */
const INTERVAL_MS = 200

/** A dead owner is replaced within 20 seconds. A caller that waits longer gets the reason. */
const REACH_LIMIT = Duration.seconds(30)

/** A take-over is common and a database that is away is not: it is asked only when no owner was found for so long, and then seldom. */
export const CHECK_AFTER = Duration.seconds(5)

/** Between two checks. A check that fails is made once more, and then the call fails. */
export const CHECK_INTERVAL = Duration.seconds(1)

/** The first message of a stream asks nothing of a database: a runner that is busy sends it in time. */
export const ANSWER_LIMIT = Duration.seconds(10)

/** Several signs are missing by then. */
export const SILENCE_LIMIT = Duration.seconds(30)

/** By then its conversation comes back no more often either (`RestartDelays`). */
const LONGEST_MS = 5_000

/** The owner went while it was asked. */
export class OwnerGone {
  readonly _tag = "OwnerGone"
}

/** `TurnStopped`: its owner goes, or begins anew; the turn goes on. */
const PASSING: ReadonlySet<string> = new Set([
  "OwnerGone",
  "Elsewhere",
  "EntityNotAssignedToRunner",
  "MailboxFull",
  "AlreadyProcessingMessage",
  "PersistenceError",
  "ShuttingDown",
  "TurnStopped"
])

/** Whether the next owner is tried after this failure. */
const isPassing = (error: Tagged): error is Unreached | { readonly _tag: "ShuttingDown" | "TurnStopped" } =>
  PASSING.has(error._tag)

/** Whether a call ended so because its owner goes: an owner that goes while it is asked interrupts the call. */
export const isGoing = <E extends Tagged>(cause: Cause.Cause<E>): boolean =>
  Option.match(Cause.findErrorOption(cause), { onNone: () => Cause.hasInterruptsOnly(cause), onSome: isPassing })

const OUT_OF_REACH = new StorageError({
  message:
    "No runner could be reached that owns this conversation. What was accepted is not lost. Check that the runners can reach each other at " +
    "their cluster.runner addresses, then try again."
})

/** The error for the caller: that of the call, unless its owner could not be reached. */
const named = <E extends Tagged>(error: E | Unreached): E | StorageError => (isPassing(error) ? OUT_OF_REACH : error)
