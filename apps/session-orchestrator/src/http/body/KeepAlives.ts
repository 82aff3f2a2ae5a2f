/**
 * Calls functions at a fixed interval, with one sleeping fiber for all of them.
 *
 * A thousand open responses write keep-alives. A fiber that sleeps for each of them would cost more memory than its response.
 *
 * KeepAlives.K1. Each function is called for the first time one interval after it was added, and then once an interval, until it is removed.
 * KeepAlives.K2. Without functions there is no fiber.
 */
import { Monotonic } from "@holdfast/kernel/host"
import { Clock, Context, Duration, Effect, type Fiber } from "effect"

/** The functions of a process, which has one clock. A test has its own. */
export const of = (clock: Clock.Clock, interval: Duration.Duration): KeepAlives => {
  const known = byClock.get(clock) ?? new KeepAlives(clock, interval)
  byClock.set(clock, known)
  return known
}

/** The functions that are called, in the order of their next times. */
export class KeepAlives {
  private readonly clock: Clock.Clock
  private readonly intervalMs: number
  private readonly beats = new Set<Beat>()
  private sleeper: Fiber.Fiber<void> | undefined = undefined

  constructor(clock: Clock.Clock, interval: Duration.Duration) {
    this.clock = clock
    this.intervalMs = Duration.toMillis(interval)
  }

  /** Adds a function, which must not throw. Returns a function that removes it. */
  add(act: () => void): () => void {
    const beat = { act, dueAt: Monotonic.millis(this.clock) + this.intervalMs }
    this.beats.add(beat)
    // A context of its own: that of the first response would be kept while others go on.
    this.sleeper ??= Effect.runForkWith(Context.make(Clock.Clock, this.clock))(this.run)
    return () => {
      this.beats.delete(beat)
      if (this.beats.size > 0) return
      this.sleeper?.interruptUnsafe() // KeepAlives.K2
      this.sleeper = undefined
    }
  }

  private readonly run: Effect.Effect<void> = Effect.suspend(() => {
    const [first] = this.beats
    if (first === undefined) return Effect.void
    const leftMs = Math.max(0, first.dueAt - Monotonic.millis(this.clock))
    return Effect.flatMap(Effect.sleep(leftMs), () => {
      this.callDue()
      return this.run
    })
  })

  private callDue(): void {
    const now = Monotonic.millis(this.clock)
    for (const beat of this.beats) {
      if (beat.dueAt > now) return
      this.beats.delete(beat)
      beat.dueAt = now + this.intervalMs
      this.beats.add(beat)
      beat.act()
    }
  }
}

// --- internal

const byClock = new WeakMap<Clock.Clock, KeepAlives>()

interface Beat {
  readonly act: () => void
  /** In milliseconds of the monotonic clock. */
  dueAt: number
}
