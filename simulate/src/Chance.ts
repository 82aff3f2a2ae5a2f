/** Numbers that look random and are the same for the same seed (mulberry32). */

/** A stream of numbers. */
export interface Chance {
  /** From 0, below 1. */
  readonly next: () => number
  /** A whole number, `from` and `to` included. */
  readonly between: (from: number, to: number) => number
  readonly of: <A>(choices: readonly [A, ...Array<A>]) => A
  readonly isTrue: (share: number) => boolean
}

/** The stream of a seed and a name: streams of other names are independent of it. */
export const make = (seed: number, name: string): Chance => {
  let state = seed | 0
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 0x5bd1e995)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  next() // neighbouring seeds begin alike
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    of: (choices) => choices[between(0, choices.length - 1)] ?? choices[0],
    isTrue: (share) => next() < share
  }
}

/** The first seed of a day: other nights each day, and the same for all who run them on it. */
export const seedOfDay = (): number => Math.floor(Date.now() / 86_400_000) * 10_000
