/**
 * Lets turns that wake go on a few at a time.
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
import { MutableList } from "effect"
import type { RightOfWay } from "./RightOfWay.ts"

/** Gives a place back. */
export type Pass = () => void

export class Turnstile {
  private readonly size: number
  private readonly onEmpty: () => void
  private readonly rightOfWay: Pick<RightOfWay, "enter">
  private readonly outside = MutableList.make<(pass: Pass) => void>()
  private inside = 0
  private isOpening = false

  /** Whoever is inside has the right of way. `onEmpty` is called when nobody waits outside, again and again. */
  constructor(size: number, rightOfWay: Pick<RightOfWay, "enter">, onEmpty: () => void = () => {}) {
    this.size = size
    this.rightOfWay = rightOfWay
    this.onEmpty = onEmpty
  }

  /** How many wait. */
  get waiting(): number {
    return this.outside.length
  }

  /** Calls `enter` with what gives its place back, now or once there is one. It must not throw. */
  come(enter: (pass: Pass) => void): void {
    MutableList.append(this.outside, enter)
    this.open()
  }

  /** Nobody who waits enters any more. */
  close(): void {
    MutableList.clear(this.outside)
  }

  /** T3. Who enters may leave on the spot: that is not gone into any deeper, but goes on here. */
  private open(): void {
    if (this.isOpening) return
    this.isOpening = true
    while (this.inside < this.size) {
      const enter = MutableList.take(this.outside)
      if (enter === MutableList.Empty) break
      this.inside++
      enter(this.pass())
    }
    this.isOpening = false
    if (this.outside.length === 0) this.onEmpty()
  }

  private pass(): Pass {
    const asked = this.rightOfWay.enter()
    let isInside = true
    return () => {
      if (!isInside) return // T2
      isInside = false
      asked()
      this.inside--
      this.open()
    }
  }
}
