/**
 * Cuts a stream of server-sent events into its frames, wherever the text was cut.
 *
 * A line ends with `\n`, `\r\n` or `\r`; a frame ends with an empty line. A frame that has no end is no frame.
 */

/** One frame. Comments are none. */
export interface SseFrame {
  /** The frame's `event`; absent for the events of turns. */
  readonly name: string | undefined
  readonly id: string | undefined
  readonly data: string
}

/** Reads one stream. */
export class SseReader {
  private rest = ""
  private name: string | undefined = undefined
  private id: string | undefined = undefined
  private data: Array<string> = []
  private isBehindReturn = false

  /** Takes the next text; returns the frames that it ends. */
  push(text: string): ReadonlyArray<SseFrame> {
    const frames: Array<SseFrame> = []
    // A line feed right behind a carriage return ends the same line.
    const since = this.isBehindReturn && text.startsWith("\n") ? text.slice(1) : text
    if (text !== "") this.isBehindReturn = text.endsWith("\r")
    const lines = (this.rest + since).split(/\r\n|\n|\r/)
    this.rest = lines.pop() ?? ""
    for (const line of lines) {
      if (line !== "") this.field(line)
      else if (this.data.length > 0) frames.push(this.ended())
      else this.clear()
    }
    return frames
  }

  private field(line: string): void {
    const colon = line.indexOf(":")
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? "" : line.slice(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1)
    if (name === "data") this.data.push(value)
    else if (name === "event") this.name = value
    else if (name === "id") this.id = value
  }

  private ended(): SseFrame {
    const frame = { name: this.name, id: this.id, data: this.data.join("\n") }
    this.clear()
    return frame
  }

  private clear(): void {
    this.name = undefined
    this.id = undefined
    this.data = []
  }
}
