/**
 * Limits what is done in one turn of the event loop.
 *
 * A client whose connection accepts a write gets the next one at once; with thousands of clients that receive megabytes, this would take seconds
 * in which no other request is read. Likewise a thousand conversations that leave memory at once. Within the budget a thing is done at once.
 * Beyond it, things wait for later turns of the event loop, in the order of their requests; what costs more than the whole budget gets a turn
 * of its own.
 */
import { Effect } from "effect"

/** The budget of one event loop for one kind of work. */
export class LoopBudget {
  private readonly most: number
  private readonly overhead: number
  /** Spent in this turn of the event loop, or in several that spent little together. */
  private spent = 0
  private isCounting = false
  private waiting: Array<Waiting> = []

  /** `most` is for each turn of the event loop; `overhead` is what anything costs besides. */
  constructor(most: number, overhead = 0) {
    this.most = most
    this.overhead = overhead
  }

  /** Whether a thing may be done now. If so, it counts as done. */
  allows(cost: number): boolean {
    if (this.waiting.length > 0 || !this.fits(cost)) return false
    this.spend(cost)
    return true
  }

  /** Waits until a thing that was not allowed may be done. */
  turn(cost: number): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const waiting: Waiting = { cost, resume: () => resume(Effect.void) }
      this.waiting.push(waiting)
      this.count()
      return Effect.sync(() => {
        this.waiting = this.waiting.filter((other) => other !== waiting)
      })
    })
  }

  private fits(cost: number): boolean {
    return this.spent === 0 || this.spent + cost + this.overhead <= this.most
  }

  private spend(cost: number): void {
    this.spent += cost + this.overhead
    // An immediate for each token would cost more than its write.
    if (this.spent > this.most / 16) this.count()
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
    for (let [next] = this.waiting; next !== undefined && this.fits(next.cost); [next] = this.waiting) {
      this.waiting.shift()
      this.spend(next.cost)
      next.resume()
    }
    if (this.waiting.length > 0) this.count()
  }
}

// --- internal

interface Waiting {
  readonly cost: number
  readonly resume: () => void
}
