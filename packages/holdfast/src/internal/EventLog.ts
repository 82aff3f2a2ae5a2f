/** The events of one turn, kept for any number of readers until the turn and its readers are gone. */
import type { TurnEvent } from "../Events.ts"

/** The events of one turn, for any number of readers. */
export class EventLog {
  readonly events: Array<TurnEvent> = []
  private isEnded = false
  /** How far the furthest reader has come. */
  private furthest = 0
  private readonly wakes = new Set<() => void>()

  push(event: TurnEvent): void {
    this.events.push(event)
    this.wake()
  }

  /** Takes back the content of the step in progress, unless a reader has received some of it; returns whether none has (rule X7). */
  withdraw(): boolean {
    const first = this.events.findLastIndex(({ type }) => type === "step-start") + 1
    if (this.furthest > first) return false
    this.events.length = first
    return true
  }

  /** No event follows. */
  end(): void {
    this.isEnded = true
    this.wake()
  }

  async *read(): AsyncGenerator<TurnEvent, void, undefined> {
    for (let next = 0; ;) {
      while (next < this.events.length) {
        const event = this.events[next++]
        this.furthest = Math.max(this.furthest, next)
        if (event !== undefined) yield event
      }
      if (this.isEnded) return
      await new Promise<void>((resolve) => void this.wakes.add(resolve))
    }
  }

  private wake(): void {
    for (const wake of this.wakes) wake()
    this.wakes.clear()
  }
}
