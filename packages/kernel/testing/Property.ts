/**
 * Checks laws over generated values with fast-check, on a test clock.
 *
 * `it.prop` of @effect/vitest 4.0.5 takes only Effect's own generators; those of fast-check shrink better and compose further. A failure
 * prints the seed and the smallest value that breaks the law.
 */
import { defined } from "@holdfast/wire"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"

/** One test: `law` holds for every generated value. */
export const prop = <A>(
  title: string,
  arbitrary: fc.Arbitrary<A>,
  law: (value: A) => Effect.Effect<void, unknown, Scope.Scope>,
  parameters?: fc.Parameters<[A]>,
  /** Milliseconds, if the test runner's own limit is too short for that many values. */
  timeout?: number
): void => it(title, defined({ timeout }), () => assert(arbitrary, law, parameters))

/** Rejects if `law` does not hold for a generated value. */
export const assert = <A>(
  arbitrary: fc.Arbitrary<A>,
  law: (value: A) => Effect.Effect<void, unknown, Scope.Scope>,
  parameters?: fc.Parameters<[A]>
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(arbitrary, (value) =>
      Effect.runPromise(law(value).pipe(Effect.scoped, Effect.provide(TestClock.layer())))
    ),
    parameters
  )
