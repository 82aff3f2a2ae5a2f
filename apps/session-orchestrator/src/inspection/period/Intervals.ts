/**
 * The union of spans of time. Pure.
 *
 * Intervals.T1. The order in which spans are added changes nothing.
 */

/** A span of time, in epoch milliseconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The spans that are left where overlapping and touching ones are joined, in order. */
export const union = (spans: ReadonlyArray<Span>): ReadonlyArray<Span> => {
  const joined: Array<{ from: number; to: number }> = []
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (to <= from) continue
    const last = joined.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else joined.push({ from, to })
  }
  return joined
}

/** The length of all spans, added up. */
export const length = (spans: ReadonlyArray<Span>): number => spans.reduce((sum, { from, to }) => sum + to - from, 0)

/** The part of a span within another one; `undefined`: there is none. */
export const within = ({ from, to }: Span, bounds: Span): Span | undefined => {
  const span = { from: Math.max(from, bounds.from), to: Math.min(to, bounds.to) }
  return span.from < span.to ? span : undefined
}
