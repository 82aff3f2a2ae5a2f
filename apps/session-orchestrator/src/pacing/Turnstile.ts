/**
 * Lets turns that wake continue a few at a time.
 *
 * A waking turn reads its conversation, runs from its start over its records, records the end of its wait and calls its provider. Two
 * thousand turns that did this side by side would all be as late as the last of them, with all their messages in memory. One after the
 * other, each is only as late as it must be.
 *
 * Turnstile.T1. At most `size` turns are inside. The others enter in the order in which they came, which is that of their times.
 * Turnstile.T2. A place is given back once, however often the function is called, and at the latest when the turn has ended or left
 *     memory: none is lost.
 * Turnstile.T3. No turn waits outside while there is a place.
 */
import { MutableList } from "effect"

/** Gives a place back. */
export type Leave = () => void

/** The places of turns that wake, and the turns that wait for one. */
export class Turnstile {
  private readonly size: number
  private readonly onEmpty: () => void
  private readonly outside = MutableList.make<(leave: Leave) => void>()
  private inside = 0
  private isOpening = false

  /** `onEmpty` is called whenever no turn waits outside. */
  constructor(size: number, onEmpty: () => void = () => {}) {
    this.size = size
    this.onEmpty = onEmpty
  }

  /** The number of turns that wait outside. */
  get waiting(): number {
    return this.outside.length
  }

  /** Calls `enter` with a function that gives the place back, now or once there is a place. `enter` must not throw. */
  request(enter: (leave: Leave) => void): void {
    MutableList.append(this.outside, enter)
    this.open()
  }

  /** Drops the turns that wait outside. */
  close(): void {
    MutableList.clear(this.outside)
  }

  /** Turnstile.T3. A turn may leave synchronously while entering; the loop handles that without recursion. */
  private open(): void {
    if (this.isOpening) return
    this.isOpening = true
    while (this.inside < this.size) {
      const enter = MutableList.take(this.outside)
      if (enter === MutableList.Empty) break
      this.inside++
      enter(this.leave())
    }
    this.isOpening = false
    if (this.outside.length === 0) this.onEmpty()
  }

  private leave(): Leave {
    let isInside = true
    return () => {
      if (!isInside) return // Turnstile.T2
      isInside = false
      this.inside--
      this.open()
    }
  }
}
