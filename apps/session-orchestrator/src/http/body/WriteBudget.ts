/**
 * Bounds how much all responses together write in one turn of the event loop.
 *
 * A client whose connection takes what is written is written to again at once. With thousands of clients that have megabytes to get,
 * this would go on for seconds in which no other request is read.
 *
 * W1. Within the budget a write is made at once. Beyond it, writes wait for a later turn, in the order in which they came.
 * W2. A write that is larger than the whole budget is made in a turn of its own.
 */
import { Effect } from "effect"

/** Bytes: some milliseconds of copying into sockets. */
export const MOST_AT_ONCE = 1024 * 1024

/** Below this a turn of the event loop is not counted by itself: an immediate for each token would cost more than its write. */
const UNCOUNTED = MOST_AT_ONCE / 16

/** What a write costs besides its bytes, in bytes: a call of the operating system. */
const PER_WRITE = 4 * 1024

export class WriteBudget {
  /** In this turn of the event loop, or in several that wrote little together. */
  private spent = 0
  private isCounting = false
  private waiting: Array<Waiting> = []
  /** The first of them that still waits. */
  private first = 0

  /** Whether a write may be made now. It counts as made. */
  allows(bytes: number): boolean {
    if (this.waiting.length > this.first || !this.fits(bytes)) return false
    this.spend(bytes)
    return true
  }

  /** Waits until a write may be made that was not allowed. */
  turn(bytes: number): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const waiting: Waiting = { bytes, resume: () => resume(Effect.void) }
      this.waiting.push(waiting)
      this.count()
      return Effect.sync(() => {
        waiting.resume = undefined
      })
    })
  }

  /** W2 */
  private fits(bytes: number): boolean {
    return this.spent === 0 || this.spent + bytes + PER_WRITE <= MOST_AT_ONCE
  }

  private spend(bytes: number): void {
    this.spent += bytes + PER_WRITE
    if (this.spent > UNCOUNTED) this.count()
  }

  private count(): void {
    if (this.isCounting) return
    this.isCounting = true
    setImmediate(this.next)
  }

  /** A new turn of the event loop. */
  private readonly next = (): void => {
    this.isCounting = false
    this.spent = 0
    for (let next = this.waiting[this.first]; next !== undefined; next = this.waiting[this.first]) {
      if (next.resume !== undefined) {
        if (!this.fits(next.bytes)) break
        this.spend(next.bytes)
      }
      this.first++
      next.resume?.()
    }
    this.waiting = this.waiting.slice(this.first)
    this.first = 0
    if (this.waiting.length > 0) this.count()
  }
}

// --- internal

interface Waiting {
  readonly bytes: number
  /** Absent: its response is gone. */
  resume: (() => void) | undefined
}
