/**
 * Brings turns that are due soon into memory ahead of their time.
 *
 * Reading a turn and running it up to its wait is most of the work of waking it. Done ahead of time, that work delays no turn when the
 * time comes: then only the end of the wait is recorded and the provider is called.
 *
 * ReadAhead.F1. Turns are read in the order of their times, `atOnce` at a time, and only while `isFree` reports that no due turn waits for
 *     a slot: reading ahead must not delay due turns.
 * ReadAhead.F2. At most `most` turns are in memory ahead of their time, and no further turn is read while those hold `mostSize` characters
 *     or more. A turn that gets no slot in time is read at its time, as it would be without this module.
 * ReadAhead.F3. A slot is given back once, however often `leave` is called, and at the latest when its turn has left memory: none is lost.
 */
import { MutableList } from "effect"

/** Limits of reading ahead, in turns and characters. */
export interface Limits {
  readonly atOnce: number
  readonly most: number
  /** In characters. */
  readonly mostSize: number
}

/** The slot of one turn, from the moment at which reading it begins. */
export interface Slot {
  /** The turn has been read; its size in characters. */
  readonly weigh: (size: number) => void
  /** The turn has arrived at its wait, and stands by. */
  readonly ready: () => void
  /** The turn is due, or has left memory. */
  readonly leave: () => void
}

/** The turns in memory ahead of their time, and the turns to read next. */
export class ReadAhead<A> {
  private readonly limits: Limits
  private readonly isFree: () => boolean
  private readonly begin: (turn: A, slot: Slot) => boolean
  private readonly soon = MutableList.make<A>()
  private reading = 0
  private slots = 0
  private size = 0
  private isOpening = false

  /** `begin` returns whether the turn takes the slot; it must not throw. */
  constructor(limits: Limits, isFree: () => boolean, begin: (turn: A, slot: Slot) => boolean) {
    this.limits = limits
    this.isFree = isFree
    this.begin = begin
  }

  /** The number of turns in memory ahead of their time. */
  get count(): number {
    return this.slots
  }

  /** The time of a turn is near. */
  near(turn: A): void {
    MutableList.append(this.soon, turn)
    this.open()
  }

  /** Begins to read turns while there are slots. To be called when `isFree` turns true again. */
  open(): void {
    if (this.isOpening) return
    this.isOpening = true
    const { atOnce, most, mostSize } = this.limits
    while (this.reading < atOnce && this.slots < most && this.size < mostSize && this.isFree()) {
      const turn = MutableList.take(this.soon)
      if (turn === MutableList.Empty) break
      const slot = this.slot()
      if (!this.begin(turn, slot)) slot.leave()
    }
    this.isOpening = false
  }

  /** Stops reading: turns that wait for a slot are dropped. */
  close(): void {
    MutableList.clear(this.soon)
  }

  private slot(): Slot {
    this.reading++
    this.slots++
    let isReading = true
    let isTaken = true
    let size = 0
    const ready = (): void => {
      if (!isReading) return // ReadAhead.F3
      isReading = false
      this.reading--
      this.open()
    }
    return {
      weigh: (characters) => {
        if (!isTaken) return
        this.size += characters - size
        size = characters
      },
      ready,
      leave: () => {
        if (!isTaken) return // ReadAhead.F3
        isTaken = false
        this.slots--
        this.size -= size
        ready()
        this.open()
      }
    }
  }
}
