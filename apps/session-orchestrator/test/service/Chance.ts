/** Random draws from a seed, for repeatable tests. */

/** Draws from a seed (mulberry32). */
export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** A whole number, both ends included. */
  from(least: number, most: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return least + (((bits ^ (bits >>> 14)) >>> 0) % (most - least + 1))
  }

  /** One of several. */
  of<A>(first: A, ...rest: ReadonlyArray<A>): A {
    return rest[this.from(0, rest.length) - 1] ?? first
  }
}
