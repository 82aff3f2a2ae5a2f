/**
 * Asking whoever owns a conversation, while owners come and go.
 *
 * O1. A call whose owner goes is made again, to the next one.
 * O2. A stream whose owner goes is opened again after the last id that came. What was transient is told anew, as it is to a
 *     client that connects again: text comes behind the `step-start` that begins it anew (X3).
 * O3. Whoever watches a turn that was stopped asks for it soon, and less and less often while nothing comes: it may stop whenever
 *     it is run.
 */
import { Array as Arr, Cause, Duration, Effect, Schedule, Stream } from "effect"
import type { ClusterError } from "effect/cluster"
import type { Frame } from "../conversation/Conversations.ts"
import { StorageError } from "../storage/Store.ts"
import type { Batch } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"

/** What the cluster says of an owner that does not answer. */
export type Unreached =
  | ClusterError.MailboxFull
  | ClusterError.AlreadyProcessingMessage
  | ClusterError.PersistenceError
  | ClusterError.EntityNotAssignedToRunner

interface Tagged {
  readonly _tag: string
}

/** Asks again while there is no owner, and while the one that there is goes (O1). */
export const reached = <A, E extends Tagged>(
  call: Effect.Effect<A, E | Unreached>
): Effect.Effect<A, E | StorageError> =>
  Effect.catchCause(call, (cause): Effect.Effect<never, E | Unreached | OwnerGone> =>
    // This fiber was not interrupted: it would not have come here.
    Cause.hasInterruptsOnly(cause) ? Effect.fail(new OwnerGone()) : Effect.failCause(cause)
  ).pipe(
    Effect.retry({ schedule: Schedule.spaced(INTERVAL), times: TRIES, while: isPassing }),
    Effect.mapError((error) => (isUnreached(error) ? outOfReach(error) : error))
  )

/**
 * Watches one owner after the other (O2), up to the last frame.
 *
 * @param after the id of the last event that the watcher has
 * @param open watches the present owner
 */
export const followed = <E extends Tagged>(
  after: number,
  open: (after: number) => Stream.Stream<Batch, E | Unreached>,
  isLast: (frame: Frame) => boolean
): Stream.Stream<Frame, E | StorageError> =>
  Stream.suspend(() => {
    /** Of what has come here. What the watcher has already is the owner's to leave out: it knows whether there ever was such an id. */
    let last = 0
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
    return Stream.suspend(() => open(last === 0 ? after : last)).pipe(
      Stream.map((batch) => Frames.fromBatch(batch).filter(isNew)),
      Stream.filter((frames) => Arr.isReadonlyArrayNonEmpty(frames)),
      Stream.flattenArray,
      Stream.concat(ended),
      Stream.catchCause((cause): Stream.Stream<never, E | Unreached | OwnerGone> =>
        Cause.hasInterruptsOnly(cause) ? Stream.fail(new OwnerGone()) : Stream.failCause(cause)
      ),
      Stream.retry(($) => $(intervals).pipe(Schedule.while(({ input }) => isPassing(input)))),
      Stream.mapError((error) => (isUnreached(error) ? outOfReach(error) : error))
    )
  })

// --- internal

/** Between two tries to reach an owner. One that died is replaced within 20 seconds; then whoever waits should be told. */
const INTERVAL = Duration.millis(200)
const TRIES = 150

/** O3. By then its conversation comes back no more often either (`Comebacks`). */
const LONGEST = Duration.seconds(5)

/** Between two tries to watch, up to the next frame. */
const intervals = Schedule.exponential(INTERVAL, 1.5).pipe(
  Schedule.setInputType<Tagged>(),
  Schedule.modifyDelay(({ duration, input }) =>
    Effect.succeed(isStopped(input) ? Duration.min(duration, LONGEST) : INTERVAL)
  )
)

/** The owner went while it was asked. */
class OwnerGone {
  readonly _tag = "OwnerGone"
}

/** `TurnStopped`: its owner goes, or begins anew; the turn goes on. */
const PASSING: ReadonlySet<string> = new Set(["OwnerGone", "EntityNotAssignedToRunner", "ShuttingDown", "TurnStopped"])

const isPassing = ({ _tag }: Tagged): boolean => PASSING.has(_tag)

const isStopped = ({ _tag }: Tagged): boolean => _tag === "TurnStopped"

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
