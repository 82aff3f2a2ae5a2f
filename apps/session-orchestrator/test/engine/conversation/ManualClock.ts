/** A clock that is a number, with timers, for tests that need no more. */

/** Time, and the timers that wait for it. */
export class ManualClock {
  ms = 1_000_000
  private readonly waiting = new Set<{ readonly endMs: number; readonly act: () => void }>()

  readonly now = (): number => this.ms
  readonly at: (endMs: number, act: () => void) => () => void = (endMs, act) => this.add(endMs, act)

  protected add(endMs: number, act: () => void): () => void {
    const entry = { endMs, act }
    this.waiting.add(entry)
    return () => this.waiting.delete(entry)
  }

  get size(): number {
    return this.waiting.size
  }

  /** Moves the clock, and rings the timers that are due on the way, in order. */
  move(byMs: number): void {
    const end = this.ms + byMs
    for (;;) {
      const [next] = Array.from(this.waiting)
        .filter(({ endMs }) => endMs <= end)
        .sort((a, b) => a.endMs - b.endMs)
      if (next === undefined) break
      this.waiting.delete(next)
      this.ms = Math.max(this.ms, next.endMs)
      next.act()
    }
    this.ms = end
  }
}
