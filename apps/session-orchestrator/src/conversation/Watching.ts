/**
 * What a watcher sees: what is on disk, then what is in progress, then what happens, without a gap and nothing twice (X3).
 *
 * V1. It subscribes first and reads second, so nothing falls between.
 * V2. What the subscription brought that is on disk too was read from there: it is dropped, and with it the transient
 *     events before it, which it stands in for.
 */
import type { Ids } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, type Pull, Stream } from "effect"
import type { StorageError, StoredEvent } from "../storage/Store.ts"
import type { Frame, SubscriberTooSlow } from "./Conversations.ts"
import type { Session } from "./Session.ts"

/** A conversation's events: the stored ones that `read` gives, then live ones without end. */
export const watch = (
  session: Session,
  read: Stream.Stream<StoredEvent, StorageError>
): Stream.Stream<Frame, StorageError | SubscriberTooSlow> =>
  Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => session.hub.subscribe()),
        (subscriber) => Effect.sync(() => subscriber.close())
      ),
      (subscriber) => {
        let last = 0
        const stored = Stream.map(read, ({ id, event, json }): Frame => {
          last = id
          return { id, event, json }
        })
        const gap = Stream.suspend(() => Stream.fromIterable(after(subscriber.take(), last)))
        return stored.pipe(Stream.concat(gap), Stream.concat(Stream.fromPull(Effect.succeed(subscriber.pull))))
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
        const next: Pull.Pull<Arr.NonEmptyReadonlyArray<Frame>, E> = Effect.suspend(() =>
          isOver
            ? Cause.done()
            : Effect.flatMap(pull, (chunk) => {
                const own = chunk.every((frame) => frame.event.turnId === turnId)
                  ? chunk
                  : chunk.filter((frame) => frame.event.turnId === turnId)
                isOver = own.at(-1)?.event.type === "turn-end"
                return Arr.isReadonlyArrayNonEmpty(own) ? Effect.succeed(own) : next
              })
        )
        return next
      })
    )

// --- internal

/** V2 */
const after = (frames: ReadonlyArray<Frame>, last: number): ReadonlyArray<Frame> => {
  const known = frames.findLastIndex(({ id }) => id !== undefined && id <= last)
  return frames.slice(known + 1)
}
