/**
 * Collects a long text from short pieces, in memory close to its own size.
 *
 * A string that grows by `+=` is a tree: each append keeps a node and its piece alive, some 60 bytes for one character. A text of 16
 * million characters that came one by one would take a gigabyte. Here a tree becomes one flat string when it has `TREE` characters.
 */

/** Characters of one tree. More of them cost memory, fewer cost time. */
const TREE = 2048

/** A text that grows piece by piece. */
export class TextBuffer {
  /** Flat strings, in a tree of them. */
  private flat = ""
  private tree: string
  /** A character of the newest flat string: see `flatten`. */
  protected seen = 0

  constructor(text = "") {
    this.tree = text
  }

  /** In characters. */
  get length(): number {
    return this.flat.length + this.tree.length
  }

  /** Adds a piece at the end. */
  append(piece: string): void {
    this.tree += piece
    if (this.tree.length >= TREE) this.flatten()
  }

  /** Returns the whole text. Further pieces can be appended. */
  text(): string {
    return this.flat + this.tree
  }

  /** V8 flattens a tree when one of its characters is read, but only if the character is used. */
  private flatten(): void {
    this.seen = this.tree.charCodeAt(0)
    this.flat += this.tree
    this.tree = ""
  }
}
