/**
 * The two phases of a shutdown for transports: accept nothing new, then release all clients.
 *
 * A waiting turn may wait for hours, so a shutdown cannot wait for it; an answer that streams is worth some seconds. Between `begin`
 * and `end`, answers that have begun may finish. After `end`, streams end and requests that wait for an answer are given up. The
 * turns are not touched; clients reconnect for them.
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"

/** The state of the shutdown. */
export class Drain extends Context.Service<
  Drain,
  {
    /** Begins the drain: nothing new is accepted. A second call does nothing. */
    readonly begin: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
    /** Releases all clients; begins the drain first if it has not begun. */
    readonly end: Effect.Effect<void>
    /** Waits until `end` has run. */
    readonly ended: Effect.Effect<void>
    /** Calls `listener` when `end` runs, without a fiber that waits. Returns a function that removes the listener. */
    readonly onEnded: (listener: () => void) => () => void
  }
>()("@holdfast/session-orchestrator/transport/http/Drain") {}

/** A drain that has not begun. */
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
