/**
 * The service's way down, as its transports see it.
 *
 * What waits may wait for hours, so a shutdown cannot wait for it: once draining has begun, streams end and waiting answers
 * are given up. The turns themselves are not touched; clients come back for them.
 */
import { Context, Deferred, Effect, Layer } from "effect"

export class Drain extends Context.Service<
  Drain,
  {
    /** Begins. The second time it does nothing. */
    readonly begin: Effect.Effect<void>
    /** Waits until it has begun. */
    readonly begun: Effect.Effect<void>
    readonly hasBegun: Effect.Effect<boolean>
  }
>()("@holdfast/session-orchestrator/transport/http/Drain") {}

export const layer: Layer.Layer<Drain> = Layer.effect(
  Drain,
  Effect.map(Deferred.make<void>(), (latch) => ({
    begin: Effect.asVoid(Deferred.succeed(latch, undefined)),
    begun: Deferred.await(latch),
    hasBegun: Deferred.isDone(latch)
  }))
)
