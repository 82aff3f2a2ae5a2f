/** The events of one turn, kept for any number of readers until the turn and its readers are gone. */
import type { TurnEvent } from "../Events.ts"

/** The events of one turn, for any number of readers. */
export class EventLog {
  readonly events: Array<TurnEvent> = []
  private isEnded = false
  private readonly wakes = new Set<() => void>()

  push(event: TurnEvent): void {
    this.events.push(event)
    this.wake()
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
