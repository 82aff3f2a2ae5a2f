/**
 * What a watcher sees: what is on disk, then what is in progress, then what happens, without a gap and nothing twice (X3).
 *
 * V1. It subscribes first and reads second, so nothing falls between.
 * V2. What the subscription brought that is on disk too was read from there: it is dropped, and with it the transient
 *     events before it, which it stands in for.
 * V3. What is on disk and has not passed the hub yet is left to the hub: read from the disk it would come before the
 *     transient events that it stands in for, and again with them.
 * V4. Whoever comes with an id that the conversation never had, because the database is an earlier copy, is told all of it: what comes
 *     from now on has ids that it would take for known.
 * V5. What is in memory (`Recent`) is not read from the disk. It has passed the hub, so nothing of V3 and V4 is left to ask.
 */
import { Push, type TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Array as Arr, Cause, Effect, Pull, Stream } from "effect"
import type { StorageError, StoredEvent } from "../storage/Store.ts"
import type { Frame, SubscriberTooSlow } from "../conversation/Conversations.ts"
import type { Session } from "./Session.ts"

export interface Options {
  /** The id of the last event that the watcher has: nothing up to it comes again. */
  readonly after?: number
  /** The turn that is watched, where it is not the whole conversation. */
  readonly turnId?: Ids.TurnId
}

type Chunk = Arr.NonEmptyReadonlyArray<Frame>
type Failure = StorageError | SubscriberTooSlow | TurnStopped.TurnStopped

/** A conversation's events: the stored ones, which `read` gives from an id on (without it), then live ones without end. */
export const watch = <E>(
  { hub }: Session,
  read: (from: number) => Stream.Stream<StoredEvent, E>,
  { after = 0, turnId }: Options = {}
): Stream.Stream<Frame, E | Failure> =>
  Push.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => hub.subscribe(turnId)),
        (subscriber) => Effect.sync(() => subscriber.close())
      ),
      (subscriber) => {
        const recent = turnId === undefined ? hub.recent.after(after) : hub.recent.of(turnId)
        let last = recent === undefined ? 0 : (recent.at(-1)?.id ?? after)
        const told = (from: number) =>
          read(from).pipe(
            Stream.takeWhile(({ id }) => id <= after || id <= (hub.lastId ?? id)), // V3
            Stream.map(({ id, event, json }): Frame => {
              last = id
              return { id, event, json }
            })
          )
        // With the event that the watcher has, which shows that there is one.
        const stored =
          recent === undefined
            ? told(Math.max(0, after - 1)).pipe(
                Stream.filter((frame) => !isKnown(frame, after)),
                Stream.concat(Stream.suspend(() => (last < after ? told(0) : Stream.empty))) // V4
              )
            : Stream.fromArray<Frame>(recent) // V5
        const gap = Stream.suspend(() => Stream.fromArray(behind(subscriber.take(), last)))
        // A turn that goes on after a restart tells anew what was read from the disk.
        const live = filtered(subscriber.pull, (frame) => !isKnown(frame, last))
        return followed(Stream.concat(stored, gap), live)
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
        return Push.attach(
          Effect.suspend(() => (isOver ? Cause.done() : more)),
          () => {
            const push = isOver ? undefined : Push.of(own)
            if (push === undefined) return undefined
            return (take, over) =>
              push((chunk) => {
                const goesOn = take(seen(chunk))
                if (goesOn && isOver) over()
                return goesOn && !isOver
              }, over)
          }
        )
      })
    )

// --- internal

/** A stream, then what a pull gives: nothing of the stream stands between a token and its client. */
const followed = <A, E, E2>(
  first: Stream.Stream<A, E>,
  then: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E2>
): Stream.Stream<A, E | E2> =>
  Stream.transformPull(first, (pull) =>
    Effect.sync(() => {
      let next: Pull.Pull<Arr.NonEmptyReadonlyArray<A>, E | E2> = Pull.catchDone(pull, () => (next = then))
      return Push.attach(
        Effect.suspend(() => next),
        () => (next === then ? Push.of(then) : undefined)
      )
    })
  )

/** The frames that pass a test. Where all of a chunk do, it stays the same array, which is encoded once for all that have it. */
const filtered = <E>(pull: Pull.Pull<Chunk, E>, passes: (frame: Frame) => boolean): Pull.Pull<Chunk, E> => {
  const passing = (chunk: Chunk): Chunk | undefined => {
    if (chunk.every(passes)) return chunk
    const some = chunk.filter(passes)
    return Arr.isReadonlyArrayNonEmpty(some) ? some : undefined
  }
  const next: Pull.Pull<Chunk, E> = Effect.flatMap(pull, (chunk) => {
    const some = passing(chunk)
    return some === undefined ? next : Effect.succeed(some)
  })
  return Push.through(next, pull, passing)
}

const isKnown = ({ id }: Frame, last: number): boolean => id !== undefined && id <= last

/** V2. Where nothing is dropped it is the same array, which is encoded once for all that have it. */
const behind = (frames: ReadonlyArray<Frame>, last: number): ReadonlyArray<Frame> => {
  const known = frames.findLastIndex((frame) => isKnown(frame, last))
  return known < 0 ? frames : frames.slice(known + 1)
}
