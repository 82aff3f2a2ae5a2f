/**
 * Holds a resource until a scope closes, where taking and releasing it is synchronous.
 *
 * Effect runs a release in the context in which the resource was taken. It merges that context, all services of the process, with that of the
 * closing fiber: 9 us for each release, several times a turn. A release that has run before Effect gets it needs no context.
 */
import { Effect, type Scope } from "effect"

/** Takes a resource, and calls `release` when the scope closes. */
export const until = <A>(take: () => A, release: (held: A) => void): Effect.Effect<A, never, Scope.Scope> =>
  Effect.acquireRelease(Effect.sync(take), (held) => {
    release(held)
    return Effect.void
  })
