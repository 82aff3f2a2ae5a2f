/**
 * Leaves undefined properties out of an object.
 *
 * The types here are exact (`exactOptionalPropertyTypes`): an optional property is absent, it never holds `undefined`.
 */

/** `A` without undefined values: a property that may be undefined is optional, the others stay required. */
export type Defined<A extends object> = {
  readonly [K in keyof A as undefined extends A[K] ? never : K]: A[K]
} & {
  readonly [K in keyof A as undefined extends A[K] ? K : never]?: Exclude<A[K], undefined>
}

/**
 * Copies an object without its undefined values. `null`, `false`, `0` and `""` are kept.
 *
 * **Gotchas**
 *
 * Each call makes an object of its own. Code that runs for every delta of a response writes its properties by hand.
 *
 * **Example** (Optional properties beside required ones)
 *
 * ```ts
 * const event = { type: "error", message, ...defined({ code, target }) }
 * ```
 */
export function defined<A extends object>(given: A): Defined<A>
export function defined(given: Readonly<Record<string, unknown>>): object {
  const kept: Record<string, unknown> = {}
  for (const key in given) {
    if (given[key] !== undefined) kept[key] = given[key]
  }
  return kept
}
