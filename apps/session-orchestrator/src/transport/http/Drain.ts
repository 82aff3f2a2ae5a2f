/**
 * The service's way down, as its transports see it: first it takes nothing new, then it lets go of everybody.
 *
 * What waits may wait for hours, so a shutdown cannot wait for it; an answer that is being given is worth some seconds. Between
 * `begin` and `end` answers that have begun may finish. After `end` streams end and waiting answers are given up. The turns
 * themselves are not touched; clients come back for them.
 */
import { Context, Deferred, Effect, Layer } from "effect"

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
  }
>()("@holdfast/session-orchestrator/transport/http/Drain") {}

export const layer: Layer.Layer<Drain> = Layer.effect(
  Drain,
  Effect.sync(() => {
    const begun = Deferred.makeUnsafe<void>()
    const ended = Deferred.makeUnsafe<void>()
    const begin = Effect.asVoid(Deferred.succeed(begun, undefined))
    return {
      begin,
      hasBegun: Deferred.isDone(begun),
      end: Effect.andThen(begin, Effect.asVoid(Deferred.succeed(ended, undefined))),
      ended: Deferred.await(ended)
    }
  })
)
