/**
 * Collects a long text from short pieces, in memory close to the text's own size.
 *
 * A string that grows by `+=` is a tree: each append keeps a node and its piece alive, some 60 bytes for one character. A text of 16
 * million characters that came one by one would take a gigabyte. Here every `RUN` pieces become one flat string.
 */

/** Pieces that are joined at once. More of them cost memory, fewer cost time. */
const RUN = 256

/** A text that grows by pieces. */
export class TextBuffer {
  private joined: Array<string> = []
  private run: Array<string> = []
  private size = 0

  constructor(text = "") {
    if (text !== "") this.append(text)
  }

  /** In characters. */
  get length(): number {
    return this.size
  }

  append(piece: string): void {
    this.size += piece.length
    if (this.run.push(piece) < RUN) return
    this.joined.push(this.run.join(""))
    this.run = []
  }

  /** The whole text. Appending goes on behind it. */
  text(): string {
    const text = this.joined.join("") + this.run.join("")
    this.joined = text === "" ? [] : [text]
    this.run = []
    return text
  }
}
