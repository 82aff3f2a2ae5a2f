/**
 * Holds a value in a scope, with little memory for as long as the scope is open.
 *
 * `Effect.acquireRelease` keeps the acquisition, its value and the context of its fiber until the scope closes: 700 bytes. An open stream holds
 * three values.
 *
 * Held.H1. A value that was made is released when its scope closes: no interruption falls between.
 */
import { Effect, Scope } from "effect"

/** A value, and what releases it. */
export type Made<A> = readonly [value: A, release: () => void]

/** Makes a value, and releases it when the scope closes. */
export const inScope = <A>(make: () => Made<A>): Effect.Effect<A, never, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) => {
      const [value, release] = make()
      return Effect.as(releasing(scope, release), value)
    })
  )

// --- internal

/** In a function of its own: the finalizer refers to `release` alone. */
const releasing = (scope: Scope.Scope, release: () => void): Effect.Effect<void> =>
  Scope.addFinalizerExit(scope, () => Effect.sync(release))
