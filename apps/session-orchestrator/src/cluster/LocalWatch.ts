/**
 * Watches a conversation that is in the memory of this runner, without a message for each frame.
 *
 * LocalWatch.W1. When the conversation leaves this runner or its memory, or the stream fails in a way that passes, the watcher goes on at the
 *     owner, after the last id that it got (`Owner.followed`), and stays there.
 * LocalWatch.W2. The conversation stays in memory while it is watched (EntityHandlers.H1).
 * LocalWatch.W3. A push of the frames is kept (`Push`): a delta takes no fiber.
 */
import { Push } from "@holdfast/kernel/host"
import { type Array as Arr, Cause, Channel, Deferred, Effect, Exit, Option, type Pull, Scope, Stream } from "effect"
import type { Frame } from "../conversation/Conversations.ts"
import * as Owner from "./Owner.ts"

/** Where frames come from. */
export interface Sources<E> {
  /** From the memory of this runner. */
  readonly here: Stream.Stream<Frame, E>
  /** Waits until the conversation leaves the memory of this runner. */
  readonly left: Effect.Effect<void>
  /** Keeps it in memory; ends when its owner goes. */
  readonly attend: Effect.Effect<unknown, unknown>
  /** From the owner, for a watcher that has got events up to this id; 0: none. */
  readonly elsewhere: (received: number) => Stream.Stream<Frame, E>
  /** Whether it is the last frame. */
  readonly isLast: (frame: Frame) => boolean
}

/** The frames of a conversation in memory here. */
export const watch = <E extends { readonly _tag: string }>(sources: Sources<E>): Stream.Stream<Frame, E> =>
  Stream.fromChannel(
    Channel.fromTransform((_upstream, scope) =>
      Effect.map(Scope.fork(scope), (inner) => new Watch(sources, scope, inner).pull)
    )
  )

// --- internal

type Chunk = Arr.NonEmptyReadonlyArray<Frame>

class Watch<E extends { readonly _tag: string }> {
  private readonly sources: Sources<E>
  private readonly scope: Scope.Scope
  /** Ends what happens here. */
  private readonly inner: Scope.Closeable
  private readonly gone = Deferred.makeUnsafe<void>()
  private here: Pull.Pull<Chunk, E> | undefined = undefined
  private elsewhere: Pull.Pull<Chunk, E> | undefined = undefined
  private last = 0
  private isOver = false
  private isGone = false
  /** Ends the push that is under way. */
  private endPush: (() => void) | undefined = undefined

  constructor(sources: Sources<E>, scope: Scope.Scope, inner: Scope.Closeable) {
    this.sources = sources
    this.scope = scope
    this.inner = inner
  }

  get pull(): Pull.Pull<Chunk, E> {
    return Push.attach(this.next, () => {
      const { here } = this
      if (here === undefined || this.isGone || this.isOver) return undefined
      const push = Push.of(here)
      return push && this.pushing(push)
    })
  }

  private readonly next: Pull.Pull<Chunk, E> = Effect.suspend((): Pull.Pull<Chunk, E> => {
    if (this.elsewhere !== undefined) return this.elsewhere
    if (this.isOver) return Cause.done()
    if (this.isGone) return this.moved
    const pulled = this.here === undefined ? Effect.flatMap(this.opened, (pull) => pull) : this.here
    // The first frames are pulled, and those of a wait; the others are pushed.
    const pulledHere = Effect.raceFirst(pulled, Effect.andThen(Deferred.await(this.gone), Effect.interrupt))
    return Effect.catchCause(Effect.map(pulledHere, this.seen), (cause): Pull.Pull<Chunk, E> => {
      const error = Option.getOrUndefined(Cause.findErrorOption(cause))
      const isEnd = error !== undefined && Cause.isDone(error)
      if (isEnd ? this.isOver : error !== undefined && !Owner.isPassing(error)) return Effect.failCause(cause)
      return isEnd || error !== undefined || Cause.hasInterruptsOnly(cause) ? this.moved : Effect.failCause(cause)
    })
  })

  /** The conversation may leave from now on (LocalWatch.W1, LocalWatch.W2). */
  private readonly opened: Effect.Effect<Pull.Pull<Chunk, E>, E> = Effect.suspend(() => {
    const { attend, here, left } = this.sources
    const ended = Effect.andThen(
      Effect.raceFirst(left, Effect.exit(attend)),
      Effect.sync(() => this.leave())
    )
    return Effect.andThen(
      Effect.forkIn(ended, this.inner),
      Effect.map(Channel.toPullScoped(Stream.toChannel(here), this.inner), (pull) => (this.here = pull))
    )
  })

  /** LocalWatch.W1 */
  private readonly moved: Pull.Pull<Chunk, E> = Effect.suspend(() => {
    this.here = undefined
    const frames = this.sources.elsewhere(this.last)
    return Scope.close(this.inner, Exit.void).pipe(
      Effect.andThen(Channel.toPullScoped(Stream.toChannel(frames), this.scope)),
      Effect.flatMap((pull) => (this.elsewhere = pull))
    )
  })

  private leave(): void {
    this.isGone = true
    Deferred.doneUnsafe(this.gone, Exit.void)
    this.endPush?.()
  }

  /** LocalWatch.W3 */
  private pushing(push: Push.Push<Chunk>): Push.Push<Chunk> {
    return (take, over) => {
      let isUnderWay = true
      let own: (() => void) | undefined
      const end = (): void => {
        isUnderWay = false
        if (this.endPush === own) this.endPush = undefined
      }
      const stop = push(
        (chunk) => {
          const goesOn = take(this.seen(chunk))
          if (goesOn && !this.isOver) return true
          const wasUnderWay = isUnderWay
          end()
          if (goesOn && wasUnderWay) over()
          return false
        },
        () => {
          if (!isUnderWay) return
          end()
          over()
        }
      )
      if (isUnderWay) {
        own = () => {
          end()
          stop()
          over()
        }
        this.endPush = own
      }
      return () => {
        end()
        stop()
      }
    }
  }

  private readonly seen = (chunk: Chunk): Chunk => {
    for (const frame of chunk) {
      if (frame.id === undefined) continue
      this.last = frame.id
      this.isOver = this.sources.isLast(frame)
    }
    return chunk
  }
}
