/**
 * Splits bytes into lines of text, wherever the bytes were cut.
 *
 * Only a line feed ends a line, with a carriage return before it or without: JSON may contain U+2028, which is no end. Memory is
 * bounded: a longer line is dropped while it arrives, and one `TooLong` stands in its place. A line that is no UTF-8 is `NotUtf8`:
 * replacement characters would make it another text.
 */

/** The most bytes of a command's line, without its end. */
export const MOST_COMMAND_BYTES = 1024 * 1024

/** A line, without its end. */
export type SplitLine =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "TooLong" }
  | { readonly _tag: "NotUtf8" }

/** Bytes of the first buffer, which grows up to the limit, and is given back after a longer line. */
const FIRST = 4 * 1024

/** The bytes of the line in progress. */
export class LineSplitter {
  private buffer: Uint8Array
  private length = 0
  private isTooLong = false
  private readonly most: number

  /** @param most the bytes that a line may have, without its end */
  constructor(most: number) {
    this.most = most
    this.buffer = new Uint8Array(Math.min(FIRST, most + 1))
  }

  /** Takes the next bytes; returns the lines that they end. */
  push(bytes: Uint8Array): ReadonlyArray<SplitLine> {
    const lines: Array<SplitLine> = []
    let from = 0
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, from)) {
      lines.push(this.complete(bytes.subarray(from, at)))
      from = at + 1
    }
    this.keep(bytes.subarray(from))
    return lines
  }

  /** The last line, if the bytes ended without a line feed. */
  end(): ReadonlyArray<SplitLine> {
    return this.length > 0 || this.isTooLong ? [this.complete(NOTHING)] : []
  }

  private complete(last: Uint8Array): SplitLine {
    // Usually the whole line is in one read.
    const isWhole = this.length === 0 && !this.isTooLong
    if (!isWhole) this.keep(last)
    const line = isWhole ? last : this.buffer.subarray(0, this.length)
    const length = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
    const isTooLong = this.isTooLong || length > this.most
    const result: SplitLine = isTooLong ? { _tag: "TooLong" } : textOf(line.subarray(0, length))
    this.length = 0
    this.isTooLong = false
    if (this.buffer.length > FIRST) this.buffer = new Uint8Array(Math.min(FIRST, this.most + 1))
    return result
  }

  /** Copies bytes: a view of a few would keep the whole read in memory. */
  private keep(bytes: Uint8Array): void {
    // One byte more than the limit may be the carriage return.
    if (this.isTooLong || this.length + bytes.length > this.most + 1) {
      this.isTooLong = true
      this.length = 0
      return
    }
    const needed = this.length + bytes.length
    if (needed > this.buffer.length) {
      const larger = new Uint8Array(Math.min(Math.max(needed, 2 * this.buffer.length), this.most + 1))
      larger.set(this.buffer.subarray(0, this.length))
      this.buffer = larger
    }
    this.buffer.set(bytes, this.length)
    this.length = needed
  }
}

// --- internal

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const NOTHING = new Uint8Array(0)

/** Every runtime has one; its type comes with the types of a runtime, which this package does without. */
declare const TextDecoder: new (
  label: string,
  options: { readonly fatal: boolean }
) => { readonly decode: (bytes: Uint8Array) => string }

const decoder = new TextDecoder("utf-8", { fatal: true })

const textOf = (bytes: Uint8Array): SplitLine => {
  try {
    return { _tag: "Text", text: decoder.decode(bytes) }
  } catch {
    return { _tag: "NotUtf8" }
  }
}
