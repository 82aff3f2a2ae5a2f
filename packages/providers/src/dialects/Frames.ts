/**
 * Splits a response's bytes into whole frames, and keeps the bytes of each.
 *
 * A frame of a stream of events ends with its blank line; lines end in LF, CR or CRLF (WHATWG HTML, section 9.2.6). A frame of a JSON
 * array ends with an element; the brackets and commas around it belong to the next frame.
 *
 * Frames.F1. The bytes of all frames and of the rest, one after the other, are the bytes that were fed.
 * Frames.F2. Any way of cutting the same bytes gives the same frames. After a blank line that ends in CR the next byte decides whether
 *     an LF belongs to it.
 */
import * as EventStream from "../decoding/EventStream.ts"

/** One frame. */
export interface Frame {
  /** As they came. */
  readonly bytes: Uint8Array
  /** The data lines of an event, or the text of an element. Absent: a comment, or a blank line. */
  readonly data: string | undefined
  /** The event's name, where it has one. */
  readonly event: string | undefined
}

/** Splits one response. */
export interface Splitter {
  /** The frames that these bytes complete. */
  readonly feed: (bytes: Uint8Array) => ReadonlyArray<Frame>
  /** The incomplete frame at the end of the body; `undefined`: there is none. */
  readonly rest: () => Frame | undefined
  /** Bytes of the incomplete frame. */
  readonly held: () => number
}

/** A splitter of server-sent events. */
export const ofEvents = (): Splitter => {
  const line = new EventLines()
  return splitter(line, eventFrame)
}

/** A splitter of a JSON array, or of one JSON document, which is a frame of its own. */
export const ofArray = (): Splitter => splitter(new Elements(), elementFrame)

/** The frames of bytes that are all there. */
export const all = (splitter: Splitter, bytes: Uint8Array): ReadonlyArray<Frame> => {
  const frames = splitter.feed(bytes)
  const rest = splitter.rest()
  return rest === undefined ? frames : [...frames, rest]
}

/** Joins pieces. */
export const join = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const piece of pieces) {
    whole.set(piece, offset)
    offset += piece.length
  }
  return whole
}

// --- internal

/** Finds the ends of frames, byte by byte. */
interface Boundary {
  /** Whether the frame ends before this byte; asked first. */
  readonly endsBefore: (byte: number) => boolean
  /** Whether the frame ends with this byte. */
  readonly endsWith: (byte: number) => boolean
}

const splitter = (boundary: Boundary, frameOf: (bytes: Uint8Array) => Frame): Splitter => {
  let pieces: Array<Uint8Array> = []
  let held = 0
  const whole = (): Frame => {
    const frame = frameOf(join(pieces))
    pieces = []
    held = 0
    return frame
  }
  return {
    feed: (bytes) => {
      const frames: Array<Frame> = []
      let start = 0
      const close = (end: number) => {
        // A copy: the reader of a socket may use its buffer again.
        if (end > start) pieces.push(bytes.slice(start, end))
        start = end
        if (pieces.length > 0) frames.push(whole())
      }
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0
        if (boundary.endsBefore(byte)) close(at)
        if (boundary.endsWith(byte)) close(at + 1)
      }
      if (start < bytes.length) {
        pieces.push(bytes.slice(start))
        held += bytes.length - start
      }
      return frames
    },
    rest: () => (pieces.length === 0 ? undefined : whole()),
    held: () => held
  }
}

const LF = 0x0a
const CR = 0x0d

/** Lines of server-sent events. */
class EventLines implements Boundary {
  private isLineEmpty = true
  private wasCr = false
  /** A blank line ended in CR; an LF may follow (Frames.F2). */
  private isEnding = false

  endsBefore(byte: number): boolean {
    if (!this.isEnding || byte === LF) return false
    this.isEnding = false
    return true
  }

  endsWith(byte: number): boolean {
    const wasCr = this.wasCr
    this.wasCr = byte === CR
    if (this.isEnding) {
      this.isEnding = false
      return true
    }
    if (byte === LF && wasCr) return false
    if (byte !== LF && byte !== CR) {
      this.isLineEmpty = false
      return false
    }
    if (!this.isLineEmpty) {
      this.isLineEmpty = true
      return false
    }
    if (byte === LF) return true
    this.isEnding = true
    return false
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS = new Set([0x7b, 0x5b])
const CLOSES = new Set([0x7d, 0x5d])
const BRACKET = 0x5b

/** Elements of a JSON array. A body that does not begin with a bracket is one element. */
class Elements implements Boundary {
  private depth = 0
  private isInString = false
  private isEscaped = false
  private isArray: boolean | undefined

  endsBefore(): boolean {
    return false
  }

  endsWith(byte: number): boolean {
    if (this.isEscaped) {
      this.isEscaped = false
      return false
    }
    if (this.isInString) {
      if (byte === BACKSLASH) this.isEscaped = true
      else if (byte === QUOTE) this.isInString = false
      return false
    }
    if (byte === QUOTE) {
      this.isInString = true
    } else if (OPENS.has(byte)) {
      this.isArray ??= byte === BRACKET
      this.depth++
    } else if (CLOSES.has(byte)) {
      this.depth--
      return this.depth === (this.isArray === true ? 1 : 0)
    }
    return false
  }
}

const eventFrame = (bytes: Uint8Array): Frame => {
  let found: { data: string; event: string | undefined } | undefined
  const lines = EventStream.make((data, event) => {
    // llama.cpp's line `error:` comes before the frame's own data.
    found ??= { data, event }
  })
  lines.feed(bytes)
  lines.end()
  return { bytes, data: found?.data, event: found?.event }
}

/** The element, without the bracket and comma before it. */
const elementFrame = (bytes: Uint8Array): Frame => {
  const text = new TextDecoder().decode(bytes).trim()
  const element = text.replace(/^[[,\s]+/, "")
  return { bytes, data: element === "" || element === "]" ? undefined : element, event: undefined }
}
