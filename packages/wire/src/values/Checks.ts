/**
 * Checks of lengths and signs, in few bytes.
 *
 * Every program with a turn bundles them. Effect's own checks of the same names know every type and order, and each adds some 200 bytes to
 * such a bundle.
 */
import * as Schema from "effect/Schema"

/** Text of one character at least. */
export const isNonEmpty = Schema.makeFilter<string>((text) => text !== "" || "Expected a text that is not empty", {
  toJsonSchema: () => ({ minLength: 1 }),
  arbitraryConstraint: { minLength: 1 }
})

/** Text of `most` characters at most. */
export const isShort = (most: number, message: string) =>
  Schema.makeFilter<string>((text) => text.length <= most || message, {
    toJsonSchema: () => ({ maxLength: most })
  })

/** A list of one element at least. */
export const hasSome = (message: string) =>
  Schema.makeFilter<ReadonlyArray<unknown>>((list) => list.length > 0 || message, {
    toJsonSchema: () => ({ minItems: 1 })
  })

/** A list of `most` elements at most. */
export const hasAtMost = (most: number, message: string) =>
  Schema.makeFilter<ReadonlyArray<unknown>>((list) => list.length <= most || message, {
    toJsonSchema: () => ({ maxItems: most }),
    arbitraryConstraint: { maxLength: most }
  })

/** A number of `minimum` or more, and of `maximum` at most. */
export const isWithin = (minimum: number, message: string, maximum = Infinity) =>
  Schema.makeFilter<number>((number) => (number >= minimum && number <= maximum) || message, {
    toJsonSchema: () => (maximum === Infinity ? { minimum } : { minimum, maximum })
  })
