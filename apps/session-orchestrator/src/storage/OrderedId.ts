/**
 * Ids that come in order: UUIDs of version 7 (RFC 9562), which begin with the time.
 *
 * Conversations and turns have an index by such an id. With ids at random every row would touch a page of its own somewhere in it: a
 * commit of five hundred turns would write as many pages to the disk, and leave them two thirds full. In order they share the last
 * one, and fill it. No order is ever read from an id: that of acceptance is the row's (`TurnTable`).
 *
 * O1. Each id of a sequence comes behind all before it, whatever the clock does: those of one millisecond are counted (section 6.2,
 *     method 1), and a clock that was set back is not followed.
 */

/** Ids in one order. */
export class OrderedIds {
  private lastMs = 0
  private count = 0

  /** A new id: 48 bits of time, in epoch milliseconds, the version, 12 bits of counter, and what chance gives a random UUID. */
  next(nowMs: number): string {
    if (nowMs > this.lastMs) {
      this.lastMs = nowMs
      this.count = 0
    } else if (++this.count > MAX_COUNT) {
      this.lastMs++
      this.count = 0
    }
    const time = this.lastMs.toString(16).padStart(12, "0")
    const counter = this.count.toString(16).padStart(3, "0")
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}${globalThis.crypto.randomUUID().slice(18)}`
  }
}

/** A new id, behind all that this process has made. */
export const next = (): string => ofProcess.next(Date.now())

// --- internal

const ofProcess = new OrderedIds()

const MAX_COUNT = 0xfff
