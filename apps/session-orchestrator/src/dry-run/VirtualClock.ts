/**
 * A clock that jumps from one moment to the next, for dry runs.
 *
 * VirtualClock.V1. Moments come in the order of their times; of equal times, in the order in which they were set.
 * VirtualClock.V2. A moment that is set never comes while the code that set it runs.
 * VirtualClock.V3. Times are whole milliseconds, as those of a timer.
 */
import { Heap } from "@holdfast/policy"
import type { GateClock } from "../gate/Gatekeeper.ts"

interface Moment {
  readonly at: number
  readonly act: () => void
}

/** Time, as a queue of moments. */
export class VirtualClock implements GateClock {
  private readonly moments = new Heap.Heap<Moment>(({ at }) => at)
  private ms: number

  /** `startMs` is in epoch milliseconds. */
  constructor(startMs: number) {
    this.ms = startMs
  }

  readonly now = (): number => this.ms

  readonly at = (endMs: number, act: () => void): (() => void) => {
    const moment = { at: Math.max(Math.ceil(endMs), this.ms), act } // VirtualClock.V3
    if (moment.at !== Infinity) this.moments.add(moment)
    return () => this.moments.delete(moment)
  }

  /** Runs the next moment, unless it comes after `until`; returns whether there was one. */
  step(until: number): boolean {
    const next = this.moments.first
    if (next === undefined || next.at > until) return false
    this.moments.delete(next)
    this.ms = next.at
    next.act()
    return true
  }
}
