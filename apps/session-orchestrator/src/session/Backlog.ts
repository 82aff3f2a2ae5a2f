/**
 * Keeps a conversation's frames, once for all subscribers, until each has taken them.
 *
 * Backlog.B1. A frame takes the same memory whether one subscriber is behind or two thousand are: each holds a position here.
 * Backlog.B2. Subscribers that take the same frames get the same array, so that a transport encodes it once. Subscribers that are far
 *     behind take whole pages, so they take the same frames wherever each of them stopped.
 * Backlog.B3. A frame is dropped when every subscriber has taken it or left; at the latest when as many others have arrived.
 */
import type { Frame } from "../conversation/Conversations.ts"
import * as SharedFrames from "./SharedFrames.ts"

/** Below this number of frames, looking for the slowest subscriber gains nothing. */
const LEAST_KEPT = 64

/** How far one subscriber may be behind, in characters of JSON: some minutes of tokens. */
export const MAX_BEHIND = 4 * 1024 * 1024

/** Most characters that one event counts for: a single large event must not disconnect a client that keeps up. */
const MAX_COUNTED = MAX_BEHIND / 4

/**
 * Size of a page, in characters: some reads of a provider. A reader gets one page immediately, because Node accepts any single write of a
 * client that does not read, and applies back-pressure only after it.
 */
const PAGE = 64 * 1024

/** A subscriber's position. */
export interface Reader {
  /** The number of the first frame that the subscriber has not taken. */
  next: number
  /** The total of counted characters when the subscriber last took frames. */
  counted: number
}

/** The frames of one conversation and the positions of its subscribers. */
export class Backlog {
  private frames: Array<Frame> = []
  /** The number of the first frame that is kept. */
  private first = 0
  private total = 0
  private readonly readers = new Set<Reader>()
  /** The number of readers that have not taken every frame. */
  private lagging = 0
  private trimAt = LEAST_KEPT
  /** The ends of full pages, oldest first. */
  private pages: Array<number> = []
  /** Characters of the page that is not full. */
  private filled = 0
  /** Arrays that were taken of the kept frames, by their first frame, for the next reader that takes the same. */
  private readonly taken = new Map<number, Taken>()

  /** Adds a reader, which gets every frame from now on. */
  join(): Reader {
    const reader = { next: this.end, counted: this.total }
    this.readers.add(reader)
    return reader
  }

  /** Removes a reader; frames that it has not taken are not kept for it. */
  leave(reader: Reader): void {
    if (!this.readers.delete(reader)) return
    this.caughtUp(reader.next < this.end)
  }

  push(frame: Frame): void {
    if (this.readers.size === 0) return
    this.frames.push(frame)
    this.total += countedOf(frame)
    this.filled += frame.json.length
    if (this.filled >= PAGE) {
      this.pages.push(this.end)
      this.filled = 0
    }
    this.lagging = this.readers.size
    if (this.frames.length >= this.trimAt) this.trim()
  }

  /** How far a reader is behind, in characters of JSON. */
  behind(reader: Reader): number {
    return this.total - reader.counted
  }

  isBehind(reader: Reader): boolean {
    return this.readers.has(reader) && reader.next < this.end
  }

  /** Takes all frames since the reader took frames last; none for a reader that has left. */
  take(reader: Reader): ReadonlyArray<Frame> {
    return this.taking(reader, this.end)
  }

  /** Takes the reader's next frames, up to the end of a page: at least one, if there is one. */
  takeSome(reader: Reader): ReadonlyArray<Frame> {
    return this.taking(reader, this.pages.find((end) => end > reader.next) ?? this.end)
  }

  private taking(reader: Reader, end: number): ReadonlyArray<Frame> {
    const from = reader.next
    if (!this.readers.has(reader) || from === end) return []
    const frames = this.between(from, end)
    reader.next = end
    for (const frame of frames) reader.counted += countedOf(frame)
    this.caughtUp(end === this.end)
    return frames
  }

  /** How many frames are kept. */
  get kept(): number {
    return this.frames.length
  }

  private get end(): number {
    return this.first + this.frames.length
  }

  private between(from: number, end: number): ReadonlyArray<Frame> {
    const known = this.taken.get(from)
    if (known?.end === end) return known.frames // Backlog.B2
    // If no other reader needs any of them, the array itself is handed out: `caughtUp` begins a new one.
    if (this.lagging === 1 && from === this.first && end === this.end) return this.frames
    const frames = SharedFrames.mark(this.frames.slice(from - this.first, end - this.first))
    this.taken.set(from, { end, frames })
    return frames
  }

  /** Backlog.B3 */
  private caughtUp(wasBehind: boolean): void {
    if (!wasBehind) return
    this.lagging--
    if (this.lagging > 0) return
    this.first = this.end
    this.frames = []
    this.filled = 0
    if (this.pages.length > 0) this.pages = []
    if (this.taken.size > 0) this.taken.clear()
    this.trimAt = LEAST_KEPT
  }

  /** Backlog.B3 */
  private trim(): void {
    let slowest = this.end
    for (const { next } of this.readers) slowest = Math.min(slowest, next)
    this.frames = this.frames.slice(slowest - this.first)
    this.first = slowest
    this.pages = this.pages.filter((end) => end > slowest)
    for (const from of this.taken.keys()) if (from < slowest) this.taken.delete(from)
    this.trimAt = Math.max(LEAST_KEPT, 2 * this.frames.length)
  }
}

/** The characters that a frame counts for. */
export const countedOf = ({ json }: Frame): number => Math.min(json.length, MAX_COUNTED)

// --- internal

interface Taken {
  readonly end: number
  readonly frames: ReadonlyArray<Frame>
}
