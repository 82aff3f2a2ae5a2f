/**
 * Limits the bytes that all responses together write in one turn of the event loop.
 *
 * A client whose connection accepts a write gets the next one at once. With thousands of clients that receive megabytes, this would
 * take seconds in which no other request is read.
 *
 * WriteBudget.W1. Within the budget a write is made at once. Beyond it, writes wait for a later turn of the event loop, in the order of their
 *     requests.
 * WriteBudget.W2. A write that is larger than the whole budget gets a turn of its own.
 */
import { Effect } from "effect"

/** The budget in bytes: some milliseconds of copying into sockets. */
export const MOST_AT_ONCE = 1024 * 1024

/** Bytes below which no new count begins: an immediate for each token would cost more than its write. */
const UNCOUNTED = MOST_AT_ONCE / 16

/** The cost of a write besides its bytes, in bytes: a call of the operating system. */
const PER_WRITE = 4 * 1024

/** The budget of one event loop. */
export class WriteBudget {
  /** Bytes of this turn of the event loop, or of several that wrote little together. */
  private spent = 0
  private isCounting = false
  private waiting: Array<Waiting> = []
  /** The index of the first write that still waits. */
  private first = 0

  /** Whether a write may be made now. If so, it counts as made. */
  allows(bytes: number): boolean {
    if (this.waiting.length > this.first || !this.fits(bytes)) return false
    this.spend(bytes)
    return true
  }

  /** Waits until a write that was not allowed may be made. */
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

  /** WriteBudget.W2 */
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

  /** Begins a new turn of the event loop. */
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
  /** `undefined`: its response is gone. */
  resume: (() => void) | undefined
}
