/**
 * Server-sent events, from bytes as a socket gives them to the data of each frame.
 *
 * One pass per read: its bytes are decoded at once, lines are found by native search, and the value of a `data:` line is a
 * slice, not a copy. What a frame means is the protocol's business.
 *
 * E1. Any way of cutting the same bytes into reads gives the same frames.
 * E2. Lines end in LF, CR or CRLF; a byte order mark at the start is dropped; several `data:` lines of a frame are joined
 *     by LF. Comments, `id:` and `retry:` give nothing. (WHATWG HTML, section 9.2.6)
 * E3. Unlike there, a frame that the end of the stream cuts off is passed on: several providers leave out the last blank line.
 *     Whoever reads it must be ready for half a frame.
 * E4. A line `error: ...`, which is llama.cpp's way to report one, is a frame of its own, named `error`.
 * E5. What is held back takes little more memory than its characters: a frame of a million short lines, and a line of a million short
 *     reads, too.
 */
import { TextBuffer } from "@holdfast/kernel"

export interface EventStream {
  /** Takes a read; gives each frame that it completes to `onFrame`. */
  readonly feed: (bytes: Uint8Array) => void
  /** Gives the frame that was in progress, if there is one. */
  readonly end: () => void
  /** How much is held back until a line or a frame is complete, in characters. */
  readonly held: () => number
}

/** Makes the reader of one stream. `event` is the frame's name, where it has one. */
export const make = (onFrame: (data: string, event: string | undefined) => void): EventStream => {
  // Drops the byte order mark, and keeps a character that a read has cut.
  const decoder = new TextDecoder()
  // The line in progress: a long line in short reads costs no more than a short one.
  let held = new TextBuffer.TextBuffer()
  let endedInCr = false
  let data: string | undefined
  // What follows the first line of a frame's data, each with the line end before it. Almost all frames have one line.
  let more: TextBuffer.TextBuffer | undefined
  let event: string | undefined

  const dispatch = () => {
    const frame = data === undefined || more === undefined ? data : data + more.text()
    const name = event
    data = undefined
    more = undefined
    event = undefined
    if (frame !== undefined) onFrame(frame, name)
  }

  const line = (text: string, start: number, end: number) => {
    if (start === end) return dispatch()
    if (text.startsWith("data", start)) {
      const value = valueOf(text, start + 4, end)
      if (value === undefined) return
      if (data === undefined) {
        data = value
      } else {
        more ??= new TextBuffer.TextBuffer()
        more.append("\n")
        if (value !== "") more.append(value)
      }
    } else if (text.startsWith("event", start)) {
      event = valueOf(text, start + 5, end) ?? event
    } else if (text.startsWith("error:", start)) {
      onFrame(valueOf(text, start + 5, end) ?? "", "error") // E4
    }
  }

  const hold = (piece: string) => {
    if (piece !== "") held.append(piece)
  }

  /** The line that is held, with its end. */
  const release = (end: string): string => {
    const whole = held.text() + end
    held = new TextBuffer.TextBuffer()
    return whole
  }

  const read = (decoded: string) => {
    const text = endedInCr || decoded.includes("\r") ? withoutCr(decoded) : decoded
    let start = 0
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      if (held.length === 0) {
        line(text, start, end)
      } else {
        const whole = release(text.slice(start, end))
        line(whole, 0, whole.length)
      }
      start = end + 1
    }
    hold(start === 0 ? text : text.slice(start))
  }

  /** With LF for every line end. The LF of a CRLF whose CR ended the read before is none of its own. */
  const withoutCr = (text: string): string => {
    if (text === "") return text
    const isSplit = endedInCr && text.startsWith("\n")
    endedInCr = text.endsWith("\r")
    return (isSplit ? text.slice(1) : text).replace(/\r\n?/g, "\n")
  }

  return {
    feed: (bytes) => read(decoder.decode(bytes, STREAM)),
    end: () => {
      read(decoder.decode())
      if (held.length > 0) read("\n")
      dispatch()
    },
    held: () => held.length + (data?.length ?? 0) + (more?.length ?? 0)
  }
}

/** Puts reads together. */
export const concat = (reads: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const whole = new Uint8Array(length)
  let offset = 0
  for (const read of reads) {
    whole.set(read, offset)
    offset += read.length
  }
  return whole
}

// --- internal

const SPACE = 32
const COLON = 58
const STREAM = { stream: true }

/** The value after a field's name that ends at `at`; `undefined` where the name goes on, and it is another field. */
const valueOf = (text: string, at: number, end: number): string | undefined => {
  if (at === end) return ""
  if (text.charCodeAt(at) !== COLON) return undefined
  return text.slice(text.charCodeAt(at + 1) === SPACE && at + 1 < end ? at + 2 : at + 1, end)
}
