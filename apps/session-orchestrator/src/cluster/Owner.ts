/**
 * Calls the owner of a conversation, while owners change.
 *
 * Owner.O1. When the owner goes during a call, the call is made again, to the next owner.
 * Owner.O2. When the owner of a stream goes, the stream is opened again after the last id that was received. Transient events are sent
 *     again, as for a client that reconnects: text follows the `step-start` that begins it again (rule X3).
 * Owner.O3. A subscriber of a stopped turn opens its stream again soon, and less and less often while no event comes: the turn may stop
 *     each time it runs.
 * Owner.O4. The limit is a time, not a number of tries: a single try at a runner that does not answer may take all of it.
 * Owner.O5. While the database is away, or accepts no writes, a caller waits a few seconds at most and gets that as the reason, whether
 *     tries fail or one does not answer: ownership is a lock in the database.
 * Owner.O6. A runner that froze just before a call never answers, and the cluster does not fail that call when it gives the conversation to
 *     another runner. So an owner sends an empty message at once and every few seconds: a stream without them is opened again. A result
 *     that takes long is requested again.
 */
import { DatabaseWait } from "@holdfast/journal/sql"
import { Monotonic } from "@holdfast/kernel/host"
import { StorageError } from "@holdfast/journal"
import { Array as Arr, Cause, Clock, Duration, Effect, Schedule, Stream } from "effect"
import type { ClusterError } from "effect/cluster"
import type { Frame } from "../conversation/Conversations.ts"
import { AnswerablePull } from "./AnswerablePull.ts"
import type { Batch } from "./ConversationEntity.ts"
import * as Frames from "./Frames.ts"

/** The cluster's errors about an owner that does not answer. */
export type Unreached =
  | ClusterError.MailboxFull
  | ClusterError.AlreadyProcessingMessage
  | ClusterError.PersistenceError
  | ClusterError.EntityNotAssignedToRunner

interface Tagged {
  readonly _tag: string
}

/** A call that failed because there was no owner, or because the owner is leaving. */
type Reaching<A, E> = Effect.Effect<A, E | StorageError>

/**
 * Repeats a call while the conversation has no owner, or its owner leaves (Owner.O1), for `REACH_LIMIT` in all (Owner.O4).
 *
 * @param check whether there is a database, soon: without one there is no owner (Owner.O5)
 */
export const reached =
  (check: Effect.Effect<void, StorageError>) =>
  <A, E extends Tagged>(call: Effect.Effect<A, E | Unreached>): Reaching<A, E> =>
    Effect.flatMap(Clock.currentTimeMillis, (begun) => asking(call, begun)).pipe(
      DatabaseWait.unless<E | StorageError>(lost(check)),
      DatabaseWait.within<E | StorageError>(REACH_LIMIT, () => outOfReach("no answer"))
    )

/** The same for what ends when a turn ends, however long its owner takes; the limit is on being without an owner. */
export const awaited = <A, E extends Tagged>(call: Effect.Effect<A, E | Unreached>): Reaching<A, E> =>
  Effect.suspend(() => {
    let without: number | undefined
    const again: Reaching<A, E> = Effect.flatMap(Clock.currentTimeMillis, (asked) =>
      Effect.catch(inTime(passing(call), ASK_AGAIN), (error): Reaching<A, E> => {
        if (!isPassing(error)) return Effect.fail(named(error))
        return Effect.flatMap(Clock.currentTimeMillis, (now) => {
          if (without === undefined || now - asked >= SERVED_MS) without = now
          if (now - without >= Duration.toMillis(REACH_LIMIT)) return Effect.fail(named(error))
          return Effect.delay(again, INTERVAL)
        })
      })
    )
    return again
  })

/**
 * Watches one owner after the other (Owner.O2), up to the last frame.
 *
 * @param after the id of the last event that the watcher has
 * @param received the id of the last event that the watcher got after that
 * @param open watches the present owner, whose first message comes at once, and others every `SIGN_INTERVAL`; they may be empty
 */
export const followed = <E extends Tagged>(
  after: number,
  open: (after: number) => Stream.Stream<Batch, E | Unreached>,
  isLast: (frame: Frame) => boolean,
  received = 0
): Stream.Stream<Frame, E | StorageError> =>
  Stream.suspend(() => {
    /** The last id received here. The owner leaves out the events that the subscriber has: it knows whether such an id ever existed. */
    let last = received
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
      answered,
      Stream.map((batch) => Frames.fromBatch(batch).filter(isNew)),
      Stream.filter((frames) => Arr.isReadonlyArrayNonEmpty(frames)),
      Stream.flattenArray,
      Stream.concat(ended),
      Stream.catchCause((cause): Stream.Stream<never, E | Unreached | OwnerGone> =>
        Cause.hasInterruptsOnly(cause) ? Stream.fail(new OwnerGone()) : Stream.failCause(cause)
      ),
      Stream.retry(($) => $(intervals).pipe(Schedule.while(({ input }) => isPassing(input)))),
      Stream.mapError(named)
    )
  })

// --- internal

const asking = <A, E extends Tagged>(call: Effect.Effect<A, E | Unreached>, begun: number): Reaching<A, E> => {
  const again: Reaching<A, E> = Effect.catch(passing(call), (error): Reaching<A, E> => {
    if (!isPassing(error)) return Effect.fail(named(error))
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now - begun >= Duration.toMillis(REACH_LIMIT) ? Effect.fail(named(error)) : Effect.delay(again, INTERVAL)
    )
  })
  return again
}

/** Fails when the database is away (Owner.O5). A database may be slow for a moment, so the check is made twice. */
const lost = (check: Effect.Effect<void, StorageError>): Effect.Effect<never, StorageError> =>
  check.pipe(
    Effect.retry({ times: 1, schedule: Schedule.spaced(CHECK_INTERVAL) }),
    Effect.andThen(Effect.sleep(CHECK_INTERVAL)),
    Effect.forever,
    Effect.delay(CHECK_AFTER)
  )

/** Owner.O6 */
const inTime = <A, E>(effect: Effect.Effect<A, E>, duration: Duration.Duration): Effect.Effect<A, E | OwnerGone> =>
  Effect.timeoutOrElse(effect, { duration, orElse: () => Effect.fail(new OwnerGone()) })

/** Owner.O6: one timer for all messages, which looks again when a message came meanwhile. Time in which the subscriber is busy does not count. */
const answered = <A, E>(messages: Stream.Stream<A, E>): Stream.Stream<A, E | OwnerGone> =>
  Stream.transformPull(messages, (pull, scope) =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const answerable = new AnswerablePull<Arr.NonEmptyReadonlyArray<A>, E | OwnerGone, void>(pull, scope)
      // The time of day may be set to another.
      const now = () => Monotonic.millis(clock)
      let limitMs = Duration.toMillis(ANSWER_LIMIT)
      let waitsSince = now()
      const silence = Effect.suspend(() => {
        const endsAt = (answerable.isWaiting ? waitsSince : now()) + limitMs
        return Effect.sleep(endsAt - now())
      })
      const isSilent = () => answerable.isWaiting && now() >= waitsSince + limitMs
      const watchdog = Effect.andThen(
        Effect.repeat(silence, { until: isSilent }),
        Effect.sync(() => answerable.answer(Effect.fail(new OwnerGone())))
      )
      yield* Effect.forkIn(watchdog, scope)
      return Effect.suspend(() => {
        waitsSince = now()
        return Effect.map(answerable.next, (chunk) => {
          limitMs = Duration.toMillis(SILENCE_LIMIT)
          return chunk
        })
      })
    })
  )

/** An owner that goes while it is asked interrupts the call. */
const passing = <A, E extends Tagged>(
  call: Effect.Effect<A, E | Unreached>
): Effect.Effect<A, E | Unreached | OwnerGone> =>
  Effect.catchCause(call, (cause): Effect.Effect<never, E | Unreached | OwnerGone> =>
    // This fiber was not interrupted: it would not have come here.
    Cause.hasInterruptsOnly(cause) ? Effect.fail(new OwnerGone()) : Effect.failCause(cause)
  )

/** Between two tries to reach an owner. */
const INTERVAL = Duration.millis(200)

/** A dead owner is replaced within 20 seconds. A caller that waits longer gets the reason. */
const REACH_LIMIT = Duration.seconds(30)

/** A take-over is common and a database that is away is not: it is asked only when no owner was found for so long, and then seldom. */
export const CHECK_AFTER = Duration.seconds(5)

/** Between two checks. A check that fails is made once more, and then the call fails. */
export const CHECK_INTERVAL = Duration.seconds(1)

/** The first message of a stream asks nothing of a database: a runner that is busy sends it in time. */
export const ANSWER_LIMIT = Duration.seconds(10)

/** Between two signs of an owner with nothing else to send. */
export const SIGN_INTERVAL = Duration.seconds(10)

/** Several signs are missing by then. */
export const SILENCE_LIMIT = Duration.seconds(30)

/** Results are asked for again so often, while their turns wait for hours. */
export const ASK_AGAIN = Duration.seconds(30)

/** A call that lasted for so long was with an owner. */
const SERVED_MS = 1_000

/** Owner.O3. By then its conversation comes back no more often either (`RestartDelays`). */
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

/** Whether the next owner is tried after this failure. */
export const isPassing = ({ _tag }: Tagged): boolean => PASSING.has(_tag)

const isStopped = ({ _tag }: Tagged): boolean => _tag === "TurnStopped"

const UNREACHED: ReadonlySet<string> = new Set([
  "OwnerGone",
  "EntityNotAssignedToRunner",
  "MailboxFull",
  "AlreadyProcessingMessage",
  "PersistenceError"
])

const isUnreached = (error: Tagged): error is Unreached | OwnerGone => UNREACHED.has(error._tag)

/** The error for the caller: that of the call, unless its owner could not be reached. */
const named = <E extends Tagged>(error: E | Unreached | OwnerGone): E | StorageError =>
  isUnreached(error) ? outOfReach(error._tag) : error

const outOfReach = (why: string): StorageError =>
  new StorageError({
    message:
      `No runner could be reached that owns this conversation (${why}). What was accepted is not lost. Check that the ` +
      "runners can reach each other at their cluster.runner addresses, then try again."
  })
