/**
 * The two phases of a shutdown for transports: accept nothing new, then release all clients.
 *
 * A waiting turn may wait for hours, so a shutdown cannot wait for it; an answer that streams is worth some seconds. Between `begin`
 * and `end`, answers that have begun may finish. After `end`, streams end and requests that wait for an answer are given up. The
 * turns are not touched; clients reconnect for them.
 */
import { Context, Deferred, Effect, Exit, Layer } from "effect"

/** The state of the shutdown. */
export class Drain extends Context.Service<Drain, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/system/Drain"
) {}

const make = () => {
  const begun = Deferred.makeUnsafe<void>()
  const ended = Deferred.makeUnsafe<void>()
  const listeners = new Set<() => void>()
  const begin = Effect.asVoid(Deferred.succeed(begun, undefined))
  return {
    /** Begins the drain: nothing new is accepted. A second call does nothing. */
    begin,
    hasBegun: Deferred.isDone(begun),
    /** Releases all clients; begins the drain first if it has not begun. */
    end: Effect.andThen(
      begin,
      Effect.sync(() => {
        Deferred.doneUnsafe(ended, Exit.void)
        for (const listener of listeners) listener()
      })
    ),
    /** Waits until `end` has run. */
    ended: Deferred.await(ended),
    /** Calls `listener` when `end` runs, without a fiber that waits. Returns a function that removes the listener. */
    onEnded: (listener: () => void) => {
      listeners.add(listener)
      if (Deferred.isDoneUnsafe(ended)) listener()
      return () => void listeners.delete(listener)
    }
  }
}

/** A drain that has not begun. */
export const layer: Layer.Layer<Drain> = Layer.sync(Drain, make)
