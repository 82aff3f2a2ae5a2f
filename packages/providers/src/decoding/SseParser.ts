/**
 * Parses server-sent events: from a socket's bytes to the data of each frame.
 *
 * It makes one pass per read: the bytes are decoded at once, lines are found by native search, and the value of a `data:` line is a
 * slice, not a copy. An incomplete frame takes little more memory than its characters, even one of a million short lines. A line `error:
 * ...`, which is llama.cpp's form of an error, is a frame of its own, named `error`.
 *
 * - Any way of cutting the same bytes into reads gives the same frames.
 * - Lines end in LF, CR or CRLF; a byte order mark at the start is dropped; several `data:` lines of a frame are joined by LF. Comments,
 *   `id:` and `retry:` give nothing. (WHATWG HTML, section 9.2.6)
 * - Unlike in that standard, a frame that the end of the stream cuts off is passed on: several providers leave out the last blank line. The
 *   reader must be able to handle half a frame.
 */
import { TextBuffer } from "@holdfast/kernel/host"

/**
 * Receives one frame. `event` is its name, where it has one; `raw` is its text up to the blank line, included, with LF for every line end.
 * `raw` is empty for a frame that two reads split, and for a line `error: ...`.
 */
export type OnFrame = (data: string, event: string | undefined, raw: string) => void

/**
 * Makes the parser of one stream. `skip` is called where a frame begins; it may read frames of the text itself, and returns the position
 * behind them.
 */
export const make = (onFrame: OnFrame, skip = (_text: string, start: number): number => start) => {
  // Drops the byte order mark, and joins a character that two reads split.
  const decoder = new TextDecoder()
  // The incomplete line. A buffer, so the cost per read does not grow with the line.
  let held = new TextBuffer.TextBuffer()
  let endedInCr = false
  let data: string | undefined
  // The further lines of a frame's data, each after its line end. Almost all frames have one line.
  let more: TextBuffer.TextBuffer | undefined
  let event: string | undefined

  const dispatch = (raw: string) => {
    if (data !== undefined) onFrame(more === undefined ? data : data + more.text(), event, raw)
    data = undefined
    more = undefined
    event = undefined
  }

  const line = (text: string, start: number, end: number) => {
    if (text.startsWith("data", start)) {
      const value = valueOf(text, start + 4, end)
      if (value === undefined) return
      if (data === undefined) {
        data = value
      } else {
        more ??= new TextBuffer.TextBuffer()
        more.append(`\n${value}`)
      }
    } else if (text.startsWith("event", start)) {
      event = valueOf(text, start + 5, end) ?? event
    } else if (text.startsWith("error:", start)) {
      onFrame(valueOf(text, start + 5, end) ?? "", "error", "")
    }
  }

  const read = (decoded: string) => {
    const text = endedInCr || decoded.includes("\r") ? withoutCr(decoded) : decoded
    /** Where the frame begins; absent if it began in an earlier read. */
    let begin = (event ?? data) === undefined && held.length === 0 ? skip(text, 0) : undefined
    let start = begin ?? 0
    for (let end = text.indexOf("\n", start); end !== -1; end = text.indexOf("\n", start)) {
      let next = end + 1
      if (held.length > 0) {
        const whole = held.text() + text.slice(start, end)
        held = new TextBuffer.TextBuffer()
        line(whole, 0, whole.length)
      } else if (start < end) {
        line(text, start, end)
      } else {
        dispatch(begin === undefined ? "" : text.slice(begin, next))
        next = begin = skip(text, next)
      }
      start = next
    }
    if (start < text.length) held.append(text.slice(start))
  }

  /** The text with LF for every line end. If the CR of a CRLF ended the previous read, the LF at the start is dropped. */
  const withoutCr = (text: string): string => {
    if (text === "") return text
    const isSplit = endedInCr && text.startsWith("\n")
    endedInCr = text.endsWith("\r")
    return (isSplit ? text.slice(1) : text).replace(/\r\n?/g, "\n")
  }

  return {
    /** Parses one read; passes each completed frame to `onFrame`. */
    feed: (bytes: Uint8Array): void => read(decoder.decode(bytes, { stream: true })),
    /** Passes on the incomplete frame, if there is one. */
    end: (): void => {
      read(decoder.decode())
      if (held.length > 0) read("\n")
      dispatch("")
    },
    /** Characters of the incomplete line and frame. */
    held: (): number => held.length + (data?.length ?? 0) + (more?.length ?? 0)
  }
}

// --- internal

/** The value after a field's name that ends at `at`; `undefined` where the name is longer, so it is another field. */
const valueOf = (text: string, at: number, end: number): string | undefined => {
  if (at === end) return ""
  if (text[at] !== ":") return undefined
  return text.slice(text[at + 1] === " " ? at + 2 : at + 1, end)
}
