/**
 * Splits a response's bytes into whole frames: server-sent events as the adapters read them (`SseParser`), or the elements of a JSON array.
 *
 * Any way of cutting the same bytes gives the same frames.
 */
import { TextBuffer } from "@holdfast/kernel/host"
import * as SseParser from "../decoding/SseParser.ts"

/** One frame. A comment is none. */
export interface AnswerFrame {
  /** The data lines of an event, or the text of an element. */
  readonly data: string
  /** The event's name, where it has one. */
  readonly event: string | undefined
}

/** Splits one response. */
export interface Splitter {
  /** The frames that these bytes complete. */
  readonly feed: (bytes: Uint8Array) => ReadonlyArray<AnswerFrame>
  /** The incomplete frame at the end of the body, and what came with it. */
  readonly rest: () => ReadonlyArray<AnswerFrame>
}

/** A splitter of server-sent events. */
export const ofEvents = (): Splitter => {
  let frames: Array<AnswerFrame> = []
  const lines = SseParser.make((data, event) => frames.push({ data, event }))
  const taken = (): ReadonlyArray<AnswerFrame> => {
    const taken = frames
    frames = []
    return taken
  }
  return {
    feed: (bytes) => {
      lines.feed(bytes)
      return taken()
    },
    rest: () => {
      lines.end()
      return taken()
    }
  }
}

/** A splitter of a JSON array. A body that does not begin with a bracket is one element. */
export const ofArray = (): Splitter => {
  const decoder = new TextDecoder()
  let element = new TextBuffer.TextBuffer()
  let depth = 0
  let isInString = false
  let isEscaped = false
  let isArray: boolean | undefined
  const ends = (character: string): boolean => {
    if (isEscaped) isEscaped = false
    else if (isInString) {
      isEscaped = character === "\\"
      isInString = character !== '"'
    } else if (character === '"') isInString = true
    else if (character === "{" || character === "[") {
      isArray ??= character === "["
      depth++
    } else if (character === "}" || character === "]") return --depth === (isArray === true ? 1 : 0)
    return false
  }
  const taken = (last: string): ReadonlyArray<AnswerFrame> => {
    element.append(last)
    // The bracket and comma before it.
    const data = element
      .text()
      .replace(/^[[,\s]+/, "")
      .trim()
    element = new TextBuffer.TextBuffer()
    return data === "" || data === "]" ? [] : [{ data, event: undefined }]
  }
  return {
    feed: (bytes) => {
      const text = decoder.decode(bytes, { stream: true })
      const frames: Array<AnswerFrame> = []
      let start = 0
      for (let at = 0; at < text.length; at++) {
        if (!ends(text.charAt(at))) continue
        frames.push(...taken(text.slice(start, at + 1)))
        start = at + 1
      }
      element.append(text.slice(start))
      return frames
    },
    rest: () => taken(decoder.decode())
  }
}

/** The frames of bytes that are all there. */
export const all = (splitter: Splitter, bytes: Uint8Array): ReadonlyArray<AnswerFrame> => [
  ...splitter.feed(bytes),
  ...splitter.rest()
]

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
