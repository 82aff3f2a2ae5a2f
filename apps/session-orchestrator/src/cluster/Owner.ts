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
import { Push } from "@holdfast/kernel/host"
import { StorageError } from "@holdfast/journal"
import {
  Array as Arr,
  Cause,
  Channel,
  Clock,
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
import type { Frame } from "../conversation/Conversations.ts"
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
    Channel.fromTransform((_upstream, scope) => Effect.sync(() => new Follower(after, open, isLast, scope).pull))
  )

/** The frames of an owner in another process, which gives a sign of life from time to time (Owner.O6). */
export const received = <E>(batches: Stream.Stream<Frames.Batch, E>): Stream.Stream<Frame, E | OwnerGone> =>
  Stream.transformPull(batches, (pull) =>
    Effect.sync(() => {
      let limit = ANSWER_LIMIT
      return Effect.suspend(() =>
        Effect.map(inTime(pull, limit), (chunk) => {
          limit = SILENCE_LIMIT
          return chunk
        })
      )
    })
  ).pipe(
    Stream.map(Frames.fromBatch),
    Stream.filter((frames) => Arr.isReadonlyArrayNonEmpty(frames)),
    Stream.flattenArray
  )

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

type Chunk = Arr.NonEmptyReadonlyArray<Frame>

class Follower<E extends Tagged> {
  private readonly after: number
  private readonly open: (after: number) => Stream.Stream<Frame, E | Unreached>
  private readonly isLast: (frame: Frame) => boolean
  private readonly scope: Scope.Scope
  private inner: Scope.Closeable | undefined = undefined
  private current: Pull.Pull<Chunk, E | Unreached> | undefined = undefined
  /** The last id received here. The owner leaves out the events that the subscriber has: it knows whether such an id ever existed. */
  private last = 0
  private isOver = false
  private tries = 0

  constructor(
    after: number,
    open: (after: number) => Stream.Stream<Frame, E | Unreached>,
    isLast: (frame: Frame) => boolean,
    scope: Scope.Scope
  ) {
    this.after = after
    this.open = open
    this.isLast = isLast
    this.scope = scope
  }

  get pull(): Pull.Pull<Chunk, E | StorageError> {
    return Push.attach(this.next, () => {
      const push = this.current === undefined || this.isOver ? undefined : Push.of(this.current)
      if (push === undefined) return undefined
      return (take, over) =>
        push((chunk) => {
          const frames = this.seen(chunk)
          const goesOn = frames === undefined || take(frames)
          if (goesOn && this.isOver) over()
          return goesOn && !this.isOver
        }, over)
    })
  }

  private readonly next: Pull.Pull<Chunk, E | StorageError> = Effect.suspend(() => {
    if (this.isOver) return Cause.done()
    const pulled = this.current ?? Effect.flatten(this.opened)
    return Effect.matchCauseEffect(pulled, {
      onFailure: (cause) => this.failed(cause),
      onSuccess: (chunk) => {
        const frames = this.seen(chunk)
        return frames === undefined ? this.next : Effect.succeed(frames)
      }
    })
  })

  private readonly opened: Effect.Effect<Pull.Pull<Chunk, E | Unreached>> = Effect.suspend(() => {
    const frames = Stream.toChannel(this.open(this.last === 0 ? this.after : this.last))
    return Effect.flatMap(Scope.fork(this.scope), (inner) => {
      this.inner = inner
      return Effect.map(Channel.toPullScoped(frames, inner), (pull) => (this.current = pull))
    })
  })

  /** The next owner is watched after a failure that passes, and after an end that is none. */
  private failed(cause: Cause.Cause<E | Unreached | Cause.Done<void>>): Pull.Pull<Chunk, E | StorageError> {
    const error = Option.getOrUndefined(Cause.findErrorOption(cause))
    if (error === undefined && !Cause.hasInterruptsOnly(cause)) return Effect.die(Cause.squash(cause))
    if (error !== undefined && !Cause.isDone(error) && !isPassing(error)) return Effect.fail(named(error))
    const { inner } = this
    this.inner = undefined
    this.current = undefined
    const grown = Math.min(INTERVAL_MS * 1.5 ** this.tries++, LONGEST_MS)
    const ms = error !== undefined && "_tag" in error && isStopped(error) ? grown : INTERVAL_MS // Owner.O3
    return Effect.andThen(
      inner === undefined ? Effect.void : Scope.close(inner, Exit.void),
      Effect.delay(this.next, ms)
    )
  }

  /** The frames that are new. */
  private seen(chunk: Chunk): Chunk | undefined {
    this.tries = 0
    const frames = chunk.some(({ id }) => id !== undefined && id <= this.last) ? chunk.filter(this.isNew) : chunk
    for (const frame of frames) {
      if (frame.id === undefined) continue
      this.last = frame.id
      this.isOver = this.isLast(frame)
    }
    return Arr.isReadonlyArrayNonEmpty(frames) ? frames : undefined
  }

  private readonly isNew = ({ id }: Frame): boolean => id === undefined || id > this.last
}

/** An owner that goes while it is asked interrupts the call. */
const passing = <A, E extends Tagged>(call: Effect.Effect<A, E | Unreached>): Effect.Effect<A, E | Unreached> =>
  Effect.catchCause(call, (cause): Effect.Effect<never, E | Unreached> =>
    // This fiber was not interrupted: it would not have come here.
    Cause.hasInterruptsOnly(cause) ? Effect.fail(new OwnerGone()) : Effect.failCause(cause)
  )

/** Between two tries to reach an owner. */
const INTERVAL_MS = 200
const INTERVAL = Duration.millis(INTERVAL_MS)

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

/** Results are asked for again so often, while their turns wait for hours. */
export const ASK_AGAIN = Duration.seconds(30)

/** A call that lasted for so long was with an owner. */
const SERVED_MS = 1_000

/** Owner.O3. By then its conversation comes back no more often either (`RestartDelays`). */
const LONGEST_MS = 5_000

/** The owner went while it was asked. */
export class OwnerGone {
  readonly _tag = "OwnerGone"
}

/** `TurnStopped`: its owner goes, or begins anew; the turn goes on. */
const PASSING: ReadonlySet<string> = new Set([
  "OwnerGone",
  "EntityNotAssignedToRunner",
  "Elsewhere",
  "ShuttingDown",
  "TurnStopped"
])

/** Whether the next owner is tried after this failure. */
export const isPassing = ({ _tag }: Tagged): boolean => PASSING.has(_tag)

/** Whether a call ended so because its owner goes. */
export const isGoing = <E extends Tagged>(cause: Cause.Cause<E>): boolean =>
  Option.match(Cause.findErrorOption(cause), { onNone: () => Cause.hasInterruptsOnly(cause), onSome: isPassing })

const isStopped = ({ _tag }: Tagged): boolean => _tag === "TurnStopped"

const UNREACHED: ReadonlySet<string> = new Set([
  "OwnerGone",
  "Elsewhere",
  "EntityNotAssignedToRunner",
  "MailboxFull",
  "AlreadyProcessingMessage",
  "PersistenceError"
])

const isUnreached = (error: Tagged): error is Unreached => UNREACHED.has(error._tag)

/** The error for the caller: that of the call, unless its owner could not be reached. */
const named = <E extends Tagged>(error: E | Unreached): E | StorageError =>
  isUnreached(error) ? outOfReach(error._tag) : error

const outOfReach = (why: string): StorageError =>
  new StorageError({
    message:
      `No runner could be reached that owns this conversation (${why}). What was accepted is not lost. Check that the ` +
      "runners can reach each other at their cluster.runner addresses, then try again."
  })
