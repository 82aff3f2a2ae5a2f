/**
 * Keeps the end of an answer that passes, and reads it once the answer is over: usage, end mark, a late error.
 *
 * All formats have these in their last frames, so nothing is read while the text goes by: a read costs one copy of its last bytes.
 *
 * AnswerEnd.E1. At most `KEPT` bytes are kept. The first of them may be the rest of a long frame (OpenAI's `response.completed` repeats the whole
 *     answer); of that frame only the token counts are read, by their place in its text.
 */
import { isObject, type JsonObject } from "../decoding/Json.ts"
import type { Dialect, Failed, Head, Judgement } from "./Dialect.ts"
import * as Frames from "./Frames.ts"

/** The most bytes that are kept. The last frames of an answer have less, apart from those that repeat it. */
export const KEPT = 64 * 1024

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

/** Of an answer that has no frames. */
export const none: AnswerEnd = {
  add: () => {},
  read: () => ({ counts: [], isComplete: false, failed: undefined })
}

/** Of a stream of events. */
export const ofEvents = (dialect: Dialect, head: Head): AnswerEnd => {
  let pieces: Array<Uint8Array> = []
  let length = 0
  let isCut = false

  /** Joined now and then, so that many short reads cost no more than their bytes. */
  const shorten = (): Uint8Array => {
    const joined = Frames.join(pieces)
    isCut ||= joined.length > KEPT
    const kept = joined.slice(Math.max(0, joined.length - KEPT))
    pieces = [kept]
    length = kept.length
    return kept
  }

  return {
    add: (bytes) => {
      isCut ||= bytes.length > KEPT
      const kept = bytes.slice(Math.max(0, bytes.length - KEPT))
      pieces.push(kept)
      length += kept.length
      for (let first = pieces[0]; first !== undefined && length - first.length >= KEPT; first = pieces[0]) {
        pieces.shift()
        length -= first.length
        isCut = true
      }
      if (pieces.length > MOST_PIECES) shorten()
    },
    read: () => {
      const frames = Frames.all(Frames.ofEvents(), shorten())
      const judgements = new Judgements(dialect, head)
      const [first] = frames
      const counts = isCut && first !== undefined ? countsIn(new TextDecoder().decode(first.bytes)) : undefined
      if (counts !== undefined)
        judgements.take(frames.length === 1 ? { kind: "end", counts } : { kind: "preamble", counts })
      for (const frame of isCut ? frames.slice(1) : frames) judgements.judge(frame)
      return judgements.result()
    }
  }
}

/** Of a JSON array: each element is read as it passes, since an array cannot be read from its end. */
export const ofArray = (dialect: Dialect, head: Head): AnswerEnd => {
  const judgements = new Judgements(dialect, head)
  const splitter = Frames.ofArray()
  return {
    add: (bytes) => {
      for (const frame of splitter.feed(bytes)) judgements.judge(frame)
    },
    read: () => judgements.result()
  }
}

// --- internal

const MOST_PIECES = 256

class Judgements {
  private readonly counts: Array<JsonObject> = []
  private isComplete = false
  private failed: Failed | undefined
  private readonly dialect: Dialect
  private readonly head: Head

  constructor(dialect: Dialect, head: Head) {
    this.dialect = dialect
    this.head = head
  }

  judge(frame: Frames.Frame): void {
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

/** The token counts of a frame whose beginning is gone (AnswerEnd.E1). */
const countsIn = (text: string): JsonObject | undefined => {
  const at = text.search(/"usage(?:Metadata)?"\s*:\s*\{(?![\s\S]*"usage(?:Metadata)?"\s*:\s*\{)/)
  if (at === -1) return undefined
  const start = text.indexOf("{", at)
  for (let end = text.indexOf("}", start); end !== -1; end = text.indexOf("}", end + 1)) {
    try {
      const counts: unknown = JSON.parse(text.slice(start, end + 1))
      return isObject(counts) ? counts : undefined
    } catch {
      // A brace inside the counts: the next one closes them.
    }
  }
  return undefined
}
