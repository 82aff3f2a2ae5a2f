/**
 * Brings turns back a few at a time: those that are due, and, while none of them waits, those whose time is near.
 *
 * A waking turn reads its conversation, runs over its records, records the end of its wait and calls its provider. Two thousand that did so
 * side by side would all be as late as the last. Reading is most of that work; done ahead of the time, it delays no turn.
 *
 * WakeQueue.W1. At most `atOnce` due turns have a place. The others enter in the order in which they came, as soon as there is one.
 * WakeQueue.W2. Turns whose time is near enter in their order, `reading` at a time, and only while no due turn waits. At most `ahead` of them
 *     have a place, and none enters while all that have one hold `size` characters or more.
 * WakeQueue.W3. A place is given back once, however often `leave` is called: none is lost.
 */
import { MutableList } from "effect"

/** How much may be in memory at once. */
interface Limits {
  readonly atOnce: number
  readonly ahead: number
  readonly reading: number
  /** In characters. */
  readonly size: number
}

/** The place of one turn. */
export interface Place {
  /** The turn has been read; its size in characters. */
  readonly weigh: (size: number) => void
  /** The turn has arrived at its wait, and stands by. */
  readonly ready: () => void
  /** The turn needs no place any more, or has left memory. */
  readonly leave: () => void
}

/** Takes a place. It must not throw, and may leave at once. */
type Enter = (place: Place) => void

/** The turns that have a place, and those that wait for one. */
export class WakeQueue {
  private readonly limits: Limits
  private readonly due = MutableList.make<Enter>()
  private readonly near = MutableList.make<Enter>()
  private readonly inside = { due: 0, near: 0, reading: 0, size: 0 }
  private isOpening = false

  constructor(limits: Limits) {
    this.limits = limits
  }

  /** A turn is due, or its time is near: `enter` is called now, or once there is a place. */
  add(when: "due" | "near", enter: Enter): void {
    MutableList.append(this[when], enter)
    this.open()
  }

  /** Drops the turns that wait for a place. */
  close(): void {
    MutableList.clear(this.due)
    MutableList.clear(this.near)
  }

  /** A turn may leave while it enters; the loop handles that without recursion. */
  private open(): void {
    if (this.isOpening) return
    this.isOpening = true
    for (let next = this.next(); next !== undefined; next = this.next()) next()
    this.isOpening = false
  }

  private next(): (() => void) | undefined {
    const { ahead, atOnce, reading, size } = this.limits
    const { inside } = this
    const when = this.due.length > 0 ? "due" : "near"
    const hasRoom =
      when === "due" ? inside.due < atOnce : inside.near < ahead && inside.reading < reading && inside.size < size
    const enter = hasRoom ? MutableList.take(this[when]) : MutableList.Empty
    return enter === MutableList.Empty ? undefined : () => enter(this.place(when))
  }

  private place(when: "due" | "near"): Place {
    const { inside } = this
    let isReading = when === "near"
    let isInside = true
    let size = 0
    inside[when]++
    if (isReading) inside.reading++
    const ready = (): void => {
      if (isReading) inside.reading--
      isReading = false
      this.open()
    }
    const weigh = (characters: number): void => {
      if (!isInside) return
      inside.size += characters - size
      size = characters
    }
    const leave = (): void => {
      if (!isInside) return // WakeQueue.W3
      weigh(0)
      isInside = false
      inside[when]--
      ready()
    }
    return { weigh, ready, leave }
  }
}
