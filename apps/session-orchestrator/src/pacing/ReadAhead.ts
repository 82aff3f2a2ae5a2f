/**
 * Which of the turns that will be due soon are brought into memory ahead of that, and when.
 *
 * Reading a turn and running it up to its wait is most of what waking it takes. What is done of that before the moment makes
 * nobody late at the moment: the end of the wait is put on record, and the provider is asked.
 *
 * F1. They are read in the order of their times, `atOnce` at once, and only while `isFree` says that nobody who is due waits for a
 *     place: being early is nobody's delay.
 * F2. At most `most` are in memory ahead of their time, and nobody begins while those hold `mostSize` or more. Whoever finds no place
 *     in time comes at its time, as if there were none of this.
 * F3. A place is given back once, however often that is said, and at the latest when its turn has left memory: none is ever lost.
 */
import { MutableList } from "effect"

export interface Limits {
  readonly atOnce: number
  readonly most: number
  /** In characters. */
  readonly mostSize: number
}

/** The place of one turn, from the moment at which it begins to be read. */
export interface Place {
  /** It has been read, and is so large, in characters. */
  readonly weigh: (size: number) => void
  /** It has come to its wait, and stands by. */
  readonly ready: () => void
  /** It is due, or has left memory. */
  readonly leave: () => void
}

export class ReadAhead<A> {
  private readonly limits: Limits
  private readonly isFree: () => boolean
  private readonly begin: (who: A, place: Place) => boolean
  private readonly soon = MutableList.make<A>()
  private reading = 0
  private places = 0
  private size = 0
  private isOpening = false

  /** `begin` says whether it takes the place; it must not throw. */
  constructor(limits: Limits, isFree: () => boolean, begin: (who: A, place: Place) => boolean) {
    this.limits = limits
    this.isFree = isFree
    this.begin = begin
  }

  /** How many are in memory ahead of their time. */
  get count(): number {
    return this.places
  }

  /** The time of a turn is near. */
  near(who: A): void {
    MutableList.append(this.soon, who)
    this.open()
  }

  /** Begins with whom there is a place for: to be called when `isFree` says so again. */
  open(): void {
    if (this.isOpening) return
    this.isOpening = true
    const { atOnce, most, mostSize } = this.limits
    while (this.reading < atOnce && this.places < most && this.size < mostSize && this.isFree()) {
      const who = MutableList.take(this.soon)
      if (who === MutableList.Empty) break
      const place = this.place()
      if (!this.begin(who, place)) place.leave()
    }
    this.isOpening = false
  }

  /** Nobody who waits is read any more. */
  close(): void {
    MutableList.clear(this.soon)
  }

  private place(): Place {
    this.reading++
    this.places++
    let isReading = true
    let isTaken = true
    let size = 0
    const ready = (): void => {
      if (!isReading) return // F3
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
        if (!isTaken) return // F3
        isTaken = false
        this.places--
        this.size -= size
        ready()
        this.open()
      }
    }
  }
}
