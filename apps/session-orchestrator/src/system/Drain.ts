/**
 * The service's way down, as its transports see it: first it takes nothing new, then it lets go of everybody.
 *
 * What waits may wait for hours, so a shutdown cannot wait for it; an answer that is being given is worth some seconds. Between
 * `begin` and `end` answers that have begun may finish. After `end` streams end and waiting answers are given up. The turns
 * themselves are not touched; clients come back for them.
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"

export class Drain extends Context.Service<
  Drain,
  {
    /** Begins: nothing new is taken. The second time it does nothing. */
    readonly begin: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
    /** Lets go of everybody; begins first, where that was not done. */
    readonly end: Effect.Effect<void>
    /** Waits until everybody is let go of. */
    readonly ended: Effect.Effect<void>
    /** Calls `listener` when everybody is let go of, without a fiber that waits for it. Returns how to leave. */
    readonly onEnded: (listener: () => void) => () => void
  }
>()("@holdfast/session-orchestrator/transport/http/Drain") {}

export const layer: Layer.Layer<Drain> = Layer.effect(
  Drain,
  Effect.sync(() => {
    const begun = Deferred.makeUnsafe<void>()
    const ended = Deferred.makeUnsafe<void>()
    const listeners = new Set<() => void>()
    const begin = Effect.asVoid(Deferred.succeed(begun, undefined))
    return {
      begin,
      hasBegun: Deferred.isDone(begun),
      end: Effect.andThen(
        begin,
        Effect.sync(() => {
          Deferred.doneUnsafe(ended, Exit.void)
          for (const listener of listeners) listener()
        })
      ),
      ended: Deferred.await(ended),
      onEnded: (listener) => {
        listeners.add(listener)
        if (Deferred.isDoneUnsafe(ended)) listener()
        return () => void listeners.delete(listener)
      }
    }
  })
)
