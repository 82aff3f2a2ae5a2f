/**
 * Lets turns that wake back into memory a few at a time.
 *
 * Whoever wakes reads its conversation, runs from its start over its records, puts the end of its wait on record and asks its
 * provider. Two thousand that did this side by side would all be as late as the last of them, with all their messages in memory.
 * One behind the other they are as late as they must be.
 *
 * T1. At most `size` are inside. The others enter in the order in which they came, which is that of their times.
 * T2. A place is given back once, however often that is said, and at the latest when the turn has come to its end or left
 *     memory: none is ever lost.
 * T3. Nobody waits outside while there is a place.
 */

/** Gives a place back. */
export type Pass = () => void

export class Turnstile {
  private readonly size: number
  private readonly outside: Array<(pass: Pass) => void> = []
  /** How many of those outside have entered: what stands before it in the array is taken away now and then. */
  private entered = 0
  private inside = 0
  private isOpening = false

  constructor(size: number) {
    this.size = size
  }

  /** How many wait. */
  get waiting(): number {
    return this.outside.length - this.entered
  }

  /** Calls `enter` with what gives its place back, now or once there is one. It must not throw. */
  come(enter: (pass: Pass) => void): void {
    this.outside.push(enter)
    this.open()
  }

  /** Nobody who waits enters any more. */
  close(): void {
    this.outside.length = 0
    this.entered = 0
  }

  /** T3. Who enters may leave on the spot: that is not gone into any deeper, but goes on here. */
  private open(): void {
    if (this.isOpening) return
    this.isOpening = true
    while (this.inside < this.size) {
      const enter = this.outside[this.entered]
      if (enter === undefined) break
      this.entered++
      this.inside++
      enter(this.pass())
    }
    if (this.entered === this.outside.length || this.entered > SPENT) {
      this.outside.splice(0, this.entered)
      this.entered = 0
    }
    this.isOpening = false
  }

  private pass(): Pass {
    let isInside = true
    return () => {
      if (!isInside) return // T2
      isInside = false
      this.inside--
      this.open()
    }
  }
}

// --- internal

/** Taking the head off an array costs its length; this many at a time it costs next to nothing. */
const SPENT = 1_024
