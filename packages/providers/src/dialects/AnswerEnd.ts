/**
 * Keeps the end of an answer that passes, and reads it once the answer is over: usage, end mark, a late error.
 *
 * All formats have these in their last frames, so nothing is read while the text goes by: a read costs one copy of its last bytes. Twice
 * `KEPT` bytes are kept at most. The first of them may be the rest of a long frame (OpenAI's `response.completed` repeats the whole
 * answer); of that frame only the token counts are read, by their place in its text.
 */
import { JsonShape } from "@holdfast/wire"
import { isObject, type JsonObject } from "../decoding/Json.ts"
import type { Dialect, Failed, AnswerHead, Judgement } from "./Dialect.ts"
import * as AnswerFrames from "./AnswerFrames.ts"

/** The bytes that are kept at least. After its token counts the longest last frame has 9 kB (the metadata of a Responses answer). */
export const KEPT = 16 * 1024

/** The end of one answer. */
export interface AnswerEnd {
  /** Adds bytes that have passed. */
  readonly add: (bytes: Uint8Array) => void
  /** Reads what was kept. */
  readonly read: () => {
    readonly counts: ReadonlyArray<JsonObject>
    readonly isComplete: boolean
    readonly failed: Failed | undefined
  }
}

/** Of an answer that has no frames: a document that passed was whole. */
export const none: AnswerEnd = {
  add: () => {},
  read: () => ({ counts: [], isComplete: true, failed: undefined })
}

/** Of a stream of events. */
export const ofEvents = (dialect: Dialect, head: AnswerHead): AnswerEnd => {
  let buffer = new Uint8Array()
  let length = 0
  let isCut = false

  /** Makes room for more bytes, `KEPT` at most: drops the oldest bytes of a full buffer, or enlarges it. */
  const makeRoom = (more: number): void => {
    if (length + more > 2 * KEPT) {
      isCut = true
      buffer.copyWithin(0, length - KEPT, length)
      length = KEPT
    }
    if (length + more <= buffer.length) return
    const larger = new Uint8Array(Math.min(2 * KEPT, Math.max(2 * buffer.length, length + more, 2048)))
    larger.set(buffer.subarray(0, length))
    buffer = larger
  }

  return {
    add: (bytes) => {
      const kept = bytes.subarray(-KEPT)
      if (kept.length < bytes.length) {
        isCut = true
        length = 0
      }
      if (length + kept.length > buffer.length) makeRoom(kept.length)
      buffer.set(kept, length)
      length += kept.length
    },
    read: () => {
      const bytes = buffer.subarray(0, length)
      const start = isCut ? blankLineIn(bytes) : 0
      const frames = AnswerFrames.all(AnswerFrames.ofEvents(), bytes.subarray(start))
      const judgements = new Judgements(dialect, head)
      const counts = countsIn(new TextDecoder().decode(bytes.subarray(0, start)))
      if (counts !== undefined)
        judgements.take(frames.length === 0 ? { kind: "end", counts } : { kind: "preamble", counts })
      for (const frame of frames.slice(-MOST_FRAMES)) judgements.judge(frame)
      return judgements.result()
    }
  }
}

/** Of a JSON array: each element is read as it passes, since an array cannot be read from its end. */
export const ofArray = (dialect: Dialect, head: AnswerHead): AnswerEnd => {
  const judgements = new Judgements(dialect, head)
  const splitter = AnswerFrames.ofArray()
  return {
    add: (bytes) => {
      for (const frame of splitter.feed(bytes)) judgements.judge(frame)
    },
    read: () => judgements.result()
  }
}

// --- internal

/** The last frames that are judged. The end of an answer is in the last three, with pings and comments among them. */
const MOST_FRAMES = 16

/** The end of the first blank line; the end of the bytes where there is none. */
const blankLineIn = (bytes: Uint8Array): number => {
  const text = new TextDecoder("latin1").decode(bytes)
  const found = /\r\n\r\n|\n\n|\r\r/.exec(text)
  return found === null ? bytes.length : found.index + found[0].length
}

class Judgements {
  private readonly counts: Array<JsonObject> = []
  private isComplete = false
  private failed: Failed | undefined
  private readonly dialect: Dialect
  private readonly head: AnswerHead

  constructor(dialect: Dialect, head: AnswerHead) {
    this.dialect = dialect
    this.head = head
  }

  judge(frame: AnswerFrames.AnswerFrame): void {
    this.take(this.dialect.judge(frame, this.head))
  }

  take(judgement: Judgement): void {
    if (judgement.counts !== undefined) this.counts.push(judgement.counts)
    if (judgement.kind === "error") this.failed ??= judgement
    this.isComplete ||=
      judgement.kind === "end" || judgement.kind === "done" || (judgement.kind === "content" && judgement.isEnd)
  }

  result(): ReturnType<AnswerEnd["read"]> {
    return { counts: this.counts, isComplete: this.isComplete, failed: this.isComplete ? undefined : this.failed }
  }
}

/** The token counts of a frame whose beginning is gone. */
const countsIn = (text: string): JsonObject | undefined => {
  const at = text.search(/"usage(?:Metadata)?"\s*:\s*\{(?![\s\S]*"usage(?:Metadata)?"\s*:\s*\{)/)
  if (at === -1) return undefined
  const start = text.indexOf("{", at)
  for (let end = text.indexOf("}", start); end !== -1; end = text.indexOf("}", end + 1)) {
    const counts = JsonShape.parse(text.slice(start, end + 1))
    if (counts !== undefined) return isObject(counts) ? counts : undefined
    // A brace inside the counts: the next one closes them.
  }
  return undefined
}
