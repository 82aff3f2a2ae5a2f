/**
 * Keeps a conversation's frames, once for all subscribers, until each has taken them.
 *
 * Backlog.B1. A frame takes the same memory whether one subscriber is behind or two thousand are: each holds a position here. It is dropped
 *     when every subscriber has taken it or left, at the latest with the next page.
 * Backlog.B2. Subscribers that are far behind take whole pages: the same arrays, wherever each of them stopped, so that a transport encodes
 *     them once.
 */
import type { Frame } from "../conversation/Conversations.ts"

/** How far one subscriber may be behind, in characters of JSON: some minutes of tokens. */
export const MAX_BEHIND = 4 * 1024 * 1024

/** Most characters that one event counts for: a single large event must not disconnect a client that keeps up. */
const MAX_COUNTED = MAX_BEHIND / 4

/**
 * Size of a page, in characters: some reads of a provider. A reader gets one page immediately, because Node accepts any single write of a
 * client that does not read, and applies back-pressure only after it.
 */
const PAGE = 32 * 1024

/** A subscriber's position. */
export interface Reader {
  /** The number of the first frame that the subscriber has not taken. */
  next: number
  /** The total of counted characters when the subscriber last took frames. */
  counted: number
}

/** The frames of one conversation and the positions of its subscribers. */
export class Backlog {
  private pages: Array<Page> = []
  /** The number of the next frame. */
  private end = 0
  private total = 0
  private readonly readers = new Set<Reader>()
  /** The number of readers that have not taken every frame. */
  private lagging = 0

  /** Adds a reader, which gets every frame from now on. */
  join(): Reader {
    const reader = { next: this.end, counted: this.total }
    this.readers.add(reader)
    return reader
  }

  /** Removes a reader; frames that it has not taken are not kept for it. */
  leave(reader: Reader): void {
    if (this.readers.delete(reader) && reader.next < this.end) this.caughtUp()
  }

  push(frame: Frame): void {
    if (this.readers.size === 0) return
    let page = this.pages.at(-1)
    if (page === undefined || page.size >= PAGE) {
      this.trim()
      page = { first: this.end, frames: [], size: 0 }
      this.pages.push(page)
    }
    page.frames.push(frame)
    page.size += frame.json.length
    this.end++
    this.total += countedOf(frame)
    this.lagging = this.readers.size
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
    const all: Array<Frame> = []
    for (let some = this.takeSome(reader); some.length > 0; some = this.takeSome(reader)) all.push(...some)
    return all
  }

  /** Takes the reader's next frames, up to the end of a page: at least one, if there is one. */
  takeSome(reader: Reader): ReadonlyArray<Frame> {
    const page = this.isBehind(reader) ? this.pages.find((page) => endOf(page) > reader.next) : undefined
    if (page === undefined) return []
    const { first, frames, size } = page
    // No frame is added to a full page (Backlog.B2).
    const taken = reader.next === first && size >= PAGE ? frames : frames.slice(reader.next - first)
    reader.next = endOf(page)
    for (const frame of taken) reader.counted += countedOf(frame)
    if (reader.next === this.end) this.caughtUp()
    return taken
  }

  /** How many frames are kept. */
  get kept(): number {
    return this.pages.reduce((sum, { frames }) => sum + frames.length, 0)
  }

  private caughtUp(): void {
    this.lagging--
    if (this.lagging === 0) this.pages = []
  }

  private trim(): void {
    let slowest = this.end
    for (const { next } of this.readers) slowest = Math.min(slowest, next)
    this.pages = this.pages.filter((page) => endOf(page) > slowest)
  }
}

/** The characters that a frame counts for. */
export const countedOf = ({ json }: Frame): number => Math.min(json.length, MAX_COUNTED)

// --- internal

interface Page {
  /** The number of its first frame. */
  readonly first: number
  readonly frames: Array<Frame>
  size: number
}

const endOf = ({ first, frames }: Page): number => first + frames.length
