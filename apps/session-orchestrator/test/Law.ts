/** Checks laws over generated values with fast-check. */
import * as fc from "fast-check"

/** Checks that a law holds for any values of these kinds; a failure prints the seed, and the smallest values that break it. */
export const holds = <Values extends [unknown, ...Array<unknown>]>(
  kinds: { readonly [K in keyof Values]: fc.Arbitrary<Values[K]> },
  law: (...values: Values) => void
): void => holdsWith({}, kinds, law)

/** The same, with so many runs. */
export const holdsWith = <Values extends [unknown, ...Array<unknown>]>(
  parameters: fc.Parameters<Values>,
  kinds: { readonly [K in keyof Values]: fc.Arbitrary<Values[K]> },
  law: (...values: Values) => void
): void => fc.assert(fc.property<Values>(...kinds, law), parameters)
