/**
 * Estimates how far the server's clock is ahead of this one, from messages that have the server's time.
 *
 * It corrects only what is proven: where the clocks may be equal, the estimate is 0. Observations narrow the estimate. A contradicting
 * observation replaces them: a clock was set.
 */

/** The least and the most milliseconds that the server's clock may be ahead. */
export interface ClockSkew {
  readonly low: number
  readonly high: number
}

/** Before the first observation. */
export const unknown: ClockSkew = { low: -Infinity, high: Infinity }

/** A server's time in a message. */
export interface Observation {
  /** The server's clock showed a time from here on, … */
  readonly from: number
  /** … and before this, … */
  readonly to: number
  /** … at a moment after this one by the own clock, … */
  readonly sentAt: number
  /** … and not after this one. */
  readonly receivedAt: number
}

/** What is known after one more observation. */
export const observed = (known: ClockSkew, { from, receivedAt, sentAt, to }: Observation): ClockSkew => {
  const now = { low: from - receivedAt, high: to - sentAt }
  if (!(now.low <= now.high)) return known
  const both = { low: Math.max(known.low, now.low), high: Math.min(known.high, now.high) }
  return both.low <= both.high ? both : now
}

/** The server's clock minus this one, in milliseconds. */
export const estimate = ({ high, low }: ClockSkew): number => (low > 0 ? low : high < 0 ? high : 0)

/** The observation of a `Date` header, which has whole seconds; absent: there is none that can be read. */
export const ofDate = (header: string | null, sentAt: number, receivedAt: number): Observation | undefined => {
  const from = header === null ? Number.NaN : Date.parse(header)
  return Number.isNaN(from) ? undefined : { from, to: from + 1_000, sentAt, receivedAt }
}
