/**
 * Undoes things when a scope closes, for scopes that come and go by the thousand.
 *
 * `Effect.acquireRelease` and `Effect.addFinalizer` provide a finalizer with the services that its effect had: each of them copies all services
 * of the process when it runs. What these functions register uses none, besides the clock of the fiber that closes the scope.
 */
import { Context, Effect, type Fiber, FiberSet, Scope } from "effect"

/** Takes something now, and calls `release` with it when the scope closes. */
export const take = <A>(take: () => A, release: (taken: A) => void): Effect.Effect<A, never, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) => {
      const taken = take()
      return Effect.as(
        Scope.addFinalizer(
          scope,
          Effect.sync(() => release(taken))
        ),
        taken
      )
    })
  )

/** Runs an effect when the scope closes. */
export const atEnd = (finalizer: Effect.Effect<unknown>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, finalizer))

/** A function that starts fibers, which end when the scope closes. */
export const fork: Effect.Effect<(effect: Effect.Effect<void>) => Fiber.Fiber<void>, never, Scope.Scope> = Effect.gen(
  function* () {
    const scope = yield* Effect.scope
    const fibers = yield* Effect.setContext(FiberSet.make<void, never>(), Context.make(Scope.Scope, scope))
    return yield* FiberSet.runtime(fibers)<never>()
  }
)
