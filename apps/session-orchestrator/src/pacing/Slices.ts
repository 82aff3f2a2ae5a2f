/**
 * Lets fibers that come together continue a few at a time, with everything else of the process between them.
 *
 * A thousand conversations that leave memory at once would hold up every request and every stream for some hundred milliseconds.
 *
 * Slices.S1. Fibers continue in the order in which they came, for `SLICE_MS` of each turn of the event loop, and at least one in each: every
 *     fiber continues.
 */
import { Effect, MutableList } from "effect"

/** Milliseconds of one turn of the event loop: a token that waits for them is not seen to be late. */
const SLICE_MS = 2

/** The fibers that wait for a slice. */
export class Slices {
  private readonly waiting = MutableList.make<() => void>()
  private isScheduled = false
  private readonly now: () => number

  /** `now` is a clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now
  }

  /** Waits for a slice. What the fiber does next, up to its next pause, is done in it. */
  readonly turn: Effect.Effect<void> = Effect.callback((resume) => {
    MutableList.append(this.waiting, () => resume(Effect.void))
    this.schedule()
  })

  private schedule(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(this.next)
  }

  private readonly next = (): void => {
    this.isScheduled = false
    const until = this.now() + SLICE_MS
    do {
      const resume = MutableList.take(this.waiting)
      if (resume === MutableList.Empty) return
      resume()
    } while (this.now() < until)
    if (this.waiting.length > 0) this.schedule()
  }
}
