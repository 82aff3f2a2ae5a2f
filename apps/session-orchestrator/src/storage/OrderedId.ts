/**
 * Makes ids in ascending order: UUIDs of version 7 (RFC 9562), which begin with the time.
 *
 * Conversations and turns have an index by such an id. With random ids every row would touch a different page of the index: a commit of
 * five hundred turns would write as many pages, and leave them two thirds full. Ordered ids share the last page, and fill it. No code
 * reads an order from an id: the order of acceptance is the number of the row (`TurnTable`).
 *
 * - Each id of a sequence sorts behind all earlier ids, whatever the clock does: ids of one millisecond are counted (section
 *   6.2, method 1), and a clock that was set back is ignored.
 */

/** A sequence of ascending ids. */
export class OrderedIds {
  private lastMs = 0
  private count = 0

  /** A new id: 48 bits of time, in epoch milliseconds, the version, 12 bits of counter, and the random bits of a random UUID. */
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

/** A new id, which sorts behind all ids that this process has made. */
export const next = (): string => ofProcess.next(Date.now())

// --- internal

const ofProcess = new OrderedIds()

const MAX_COUNT = 0xfff
