/**
 * Joins stored and live events for a watcher, without gap or duplicate (rule X3).
 *
 * Watching.V2. A frame of the subscription that is on disk too was read from there: it is dropped, and with it the transient events of its
 *     turn before it, which it replaces.
 * Watching.V3. An event that is on disk and has not passed the hub yet is left to the hub. Read from the disk it would precede the
 *     transient events that it replaces, and arrive again after them. The hub of a turn that was taken up does not know which have passed before
 *     its first: what is read meanwhile waits for the write under way, whose events then drop what they replace (Watching.V2).
 * Watching.V4. If the conversation never had the client's id, the database is an earlier copy. The client then gets all events: future
 *     events will have ids that the client takes for known.
 *
 * It subscribes first and reads second, so no event falls between.
 */
import type { StorageError } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import { Push } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, Pull, Stream } from "effect"
import type { StoredEvent } from "../../storage/Stored.ts"
import type { ConversationNotFound, Frame, SubscriberTooSlow } from "../conversation/Conversations.ts"
import type { Subscriber } from "./Hub.ts"
import type { Session } from "./Session.ts"

/** Where a watcher begins, and which turn it watches. */
interface Options {
  /** The id of the last event that the watcher has: events up to it are not sent again. */
  readonly after?: number
  /** The turn that is watched; if absent, the whole conversation. */
  readonly turnId?: Ids.TurnId
  /** Why the stream ends at once, as those of before have: the conversation has just been lost to another process. */
  readonly ended?: () => TurnStopped.TurnStopped | undefined
}

type Chunk = Arr.NonEmptyReadonlyArray<Frame>
type Failure = StorageError | SubscriberTooSlow | TurnStopped.TurnStopped | ConversationNotFound

/** A conversation's events: the stored ones, which `read` returns after an id, then live ones without end. */
export const watch = <E>(
  session: Session,
  read: (from: number) => Stream.Stream<StoredEvent, E>,
  { after = 0, ended, turnId }: Options = {}
): Stream.Stream<Frame, E | Failure> =>
  Push.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => session.hub.subscribe(turnId)),
        (subscriber) => Effect.sync(() => subscriber.close())
      ),
      (subscriber) => {
        const { hub } = session
        const end = ended?.()
        if (end !== undefined) subscriber.fail(end)
        let last = 0
        const fromDisk = (from: number) =>
          read(from).pipe(
            Stream.takeWhile(({ id }) => id <= after || id <= (hub.lastId ?? id)), // Watching.V3
            Stream.map(({ id, event, json }): Frame => {
              last = id
              return { id, event, json }
            })
          )
        // Includes the event that the watcher has, which proves that it exists.
        const stored = fromDisk(Math.max(0, after - 1)).pipe(
          Stream.filter((frame) => !isKnown(frame, after)),
          Stream.concat(Stream.suspend(() => (last < after ? fromDisk(0) : Stream.empty))) // Watching.V4
        )
        const gap = Stream.suspend(() => Stream.fromArray(behind(subscriber.take(), last)))
        // The line goes on before the events of a write pass the hub, in the same task.
        const passed = Stream.suspend(() =>
          hub.lastId === undefined && hub.inProgress.contentOf !== undefined
            ? Stream.unwrap(Effect.as(Effect.andThen(session.writing(Effect.void), Effect.yieldNow), gap))
            : gap
        )
        return followed(
          Stream.concat(stored, passed),
          live(subscriber, () => last)
        )
      }
    )
  )

/** The frames of one turn, up to its `turn-end`. Chunks stay whole: one read of the provider is one write to a client. */
export const ofTurn =
  (turnId: Ids.TurnId) =>
  <E>(frames: Stream.Stream<Frame, E>): Stream.Stream<Frame, E> =>
    Stream.transformPull(frames, (pull) =>
      Effect.sync(() => {
        let isOver = false
        const own = filtered(pull, ({ event }) => event.turnId === turnId)
        const seen = (chunk: Chunk): Chunk => {
          isOver = chunk.at(-1)?.event.type === "turn-end"
          return chunk
        }
        const more = Effect.map(own, seen)
        const next = Effect.suspend(() => (isOver ? Cause.done() : more))
        return Push.through(
          next,
          () => own,
          seen,
          () => isOver
        )
      })
    )

// --- internal

/** The frames that arrive from now on. A turn that continues after a restart emits again what was read from the disk. */
const live = ({ pull }: Subscriber, lastOf: () => number) => filtered(pull, (frame) => !isKnown(frame, lastOf()))

/** A stream, then a pull: no part of the stream stands between a token and its client. */
const followed = <A, E, E2>(
  first: Stream.Stream<A, E>,
  then: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E2>
): Stream.Stream<A, E | E2> => Stream.transformPull(first, (pull) => Effect.succeed(following(pull, then)))

/** No function here refers to `first`: it is released at its end. */
const following = <A, E, E2>(
  first: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E>,
  then: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E2>
): Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E | E2> => {
  let next: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E | E2> = Pull.catchDone(first, () => (next = then))
  return Push.attach(
    Effect.suspend(() => next),
    () => (next === then ? Push.of(then) : undefined)
  )
}

/** The frames that pass a test. A chunk whose frames all pass stays the same array, which is encoded once for all subscribers. */
const filtered = <E>(pull: Pull.Pull<Chunk, E>, passes: (frame: Frame) => boolean): Pull.Pull<Chunk, E> =>
  Push.filterMap(pull, (chunk) => {
    if (chunk.every(passes)) return chunk
    const some = chunk.filter(passes)
    return Arr.isReadonlyArrayNonEmpty(some) ? some : undefined
  })

const isKnown = ({ id }: Frame, last: number): boolean => id !== undefined && id <= last

/** Watching.V2. If nothing is dropped, the same array is returned, which is encoded once for all subscribers that have it. */
const behind = (frames: ReadonlyArray<Frame>, last: number): ReadonlyArray<Frame> => {
  const known = new Map(frames.flatMap((frame, at) => (isKnown(frame, last) ? [[frame.event.turnId, at]] : [])))
  return known.size === 0 ? frames : frames.filter(({ event }, at) => at > (known.get(event.turnId) ?? -1))
}
