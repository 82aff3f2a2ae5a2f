/**
 * Makes a source count which of its mutation points are evaluated.
 *
 * The counts are kept in a global object: by path, the set of points by their `start-end`.
 */
import { MagicString } from "magic-string"
import type { Point } from "./Operators.ts"
import type { Place, Source } from "./Places.ts"

/** The name of the global object with the counts. */
export const GLOBAL = "__holdfastMutationPoints"

/** A point's name within its source. */
export const nameOf = ({ end, start }: Point): string => `${start}-${end}`

/** The source with its points counted. It behaves as before. */
export const instrument = ({ path, text }: Source, places: ReadonlyArray<Place>): string => {
  const points = new Map(places.map(({ point }) => [`${point.kind} ${nameOf(point)}`, point]))
  const output = new MagicString(text)
  // Outer points first: what they insert stands outside of what inner points insert at the same position.
  for (const point of [...points.values()].toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const count = `__point("${nameOf(point)}")`
    const [open, close] = point.kind === "expression" ? [`(${count}, `, ")"] : [`{${count}; `, "}"]
    output.appendRight(point.start, open)
    output.prependLeft(point.end, close)
  }
  output.prepend(
    `const __points = ((globalThis.${GLOBAL} ??= {})[${JSON.stringify(path)}] ??= new Set()), __point = (name) => { __points.add(name) };`
  )
  return output.toString()
}
